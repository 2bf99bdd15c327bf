// Writes a module that makes pairs of planes and planes of pairs: libraries have complex numbers as pairs.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "jit/core/dtype.hpp"

namespace lazy::cuda_backend {

inline constexpr unsigned kPairsThreads = 256;  // of a block; each has a number

/// Holds the words of a launch.
struct PairsWords {
  uint64_t re, im, pairs;  // addresses. Of the planes that are written one may be 0: nobody reads it
  uint64_t n;              // numbers
  // Numbers of a row whose first and `real`-th have no imaginary part, whatever is there; 0: all have one.
  uint64_t row, real;
};

enum class Pairs : uint16_t { pack, unpack };  // indices into the functions' names

/// Returns the names of the module's functions.
std::vector<std::string> pairs_functions();
/// Returns the module's text, for planes of float32 or float64.
std::string emit_pairs(DType);

}  // namespace lazy::cuda_backend
