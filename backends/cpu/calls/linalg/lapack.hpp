// Opens LAPACKE when it is first needed, and declares the functions of it that are used: those that get
// their work memory, in column-major layout. A row-major matrix is the transpose of that.
#pragma once
#include <cstdint>

#include "support/site.hpp"

namespace lazy::cpu_backend {

/// Returns a size as LAPACK takes it.
inline int32_t i32(int64_t n) { return static_cast<int32_t>(n); }

/// Holds the functions for elements of type T, float or double, by their names without LAPACKE_, the type's
/// letter and _work.
template <class T>
struct Lapack {
  static constexpr int kColumnMajor = 102;
  using I = int32_t;
  int (*trtrs)(int, char uplo, char trans, char diag, I n, I nrhs, const T* a, I lda, T* b, I ldb);
  int (*gelqf)(int, I m, I n, T* a, I lda, T* tau, T* work, I lwork);
  int (*orglq)(int, I m, I n, I k, T* a, I lda, const T* tau, T* work, I lwork);
  int (*gesdd)(int, char jobz, I m, I n, T* a, I lda, T* s, T* u, I ldu, T* vt, I ldvt, T* work, I lwork,
               I* iwork);
  int (*syevd)(int, char jobz, char uplo, I n, T* a, I lda, T* w, T* work, I lwork, I* iwork, I liwork);
  int (*geev)(int, char jobvl, char jobvr, I n, T* a, I lda, T* wr, T* wi, T* vl, I ldvl, T* vr, I ldvr,
              T* work, I lwork);
};

/// Returns the functions. Throws DeviceError at `site`, which called `op`, if the library can't be opened.
template <class T>
const Lapack<T>& lapack(const char* op, const Site& site);

/// Keeps the library, where it is an OpenBLAS, a BLIS or an MKL, from starting threads of its own, for a
/// scope: these would share sums, whose bits would depend on their number.
class OneLibraryThread {
 public:
  OneLibraryThread();
  OneLibraryThread(const OneLibraryThread&) = delete;
  ~OneLibraryThread();
};

}  // namespace lazy::cpu_backend
