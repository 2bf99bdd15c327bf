// Opens LAPACKE when it is first needed, and declares the functions of it that are used.
#pragma once
#include <cstdint>

#include "support/site.hpp"

namespace lazy::cpu_backend {

struct Lapack {
  static constexpr int kColumnMajor = 102;
  int (*spotrf)(int layout, char uplo, int32_t n, float* a, int32_t lda) = nullptr;
  int (*dpotrf)(int layout, char uplo, int32_t n, double* a, int32_t lda) = nullptr;
};

/// Returns the functions. Throws DeviceError at `site`, which called `op`, if the library can't be opened.
const Lapack& lapack(const char* op, const Site& site);

}  // namespace lazy::cpu_backend
