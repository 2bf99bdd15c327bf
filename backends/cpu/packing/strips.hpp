// Transposes matrices in registers: strips of as many columns as a block of registers has, block by block
// down the rows. Needs AVX2.
#pragma once
#include <cstdint>

#include "backends/cpu/machine/features.hpp"

namespace lazy::cpu_backend {

/// Sets element (i, j), at to + i * pitch + j * size, to the one at from + j * column + i * size, i < rows,
/// j < columns; elements have 2, 4 or 8 bytes. Writes nothing else. Returns how many elements went one by
/// one: none of 4 or 8 bytes if there are four rows and four columns at least.
int64_t transpose(const char* from, int64_t column, int64_t size, int64_t rows, int64_t columns, char* to,
                  int64_t pitch, Isa = best_isa());

}  // namespace lazy::cpu_backend
