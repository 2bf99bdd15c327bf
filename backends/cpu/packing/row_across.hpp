// Multiplies one row by a right side of 16-bit floats that is read as it lies: lanes run along its columns,
// which lie side by side, and are widened in registers. Needs AVX2.
#pragma once
#include <cstdint>

#include "backends/cpu/packing/pack.hpp"

namespace lazy::cpu_backend {

/// Sums are written by whole blocks of so many columns.
inline constexpr int64_t kColumnsAcross = 32;

/// Sets sums[j] to the product of the row, of so many steps, and of column j of `right`, bfloat16 or float16,
/// added up in the order of the steps. What follows the last column's sum, up to a multiple of
/// kColumnsAcross, is overwritten. `wide` says that there are registers of 64 bytes.
void multiply_row_across(const float* row, int64_t steps, const PackSource& right, int64_t columns, bool wide,
                         float* sums);

}  // namespace lazy::cpu_backend
