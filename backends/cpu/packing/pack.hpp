// Copies a contraction's sides into the order that its generated code reads: converted to lanes, transposed
// where that makes neighbours of what is read together. Needs AVX2 and F16C.
#pragma once
#include <cstdint>

#include "backends/cpu/packing/contraction.hpp"

namespace lazy::cpu_backend {

/// Describes a matrix whose element (i, j) is at data + i * row + j * column (bytes).
struct PackSource {
  const char* data;
  int64_t row, column;
  DType type;
};

/// Copies `rows` by `columns` elements: lane (i, j) goes to to + i * pitch + j lanes. Not for pairs.
void pack(const PackSource&, ContractionLane, int64_t rows, int64_t columns, char* to, int64_t pitch);
/// Copies likewise, as int16, a bfloat16 as it is; an odd count of columns gets a zero behind it. For the
/// left side of pairs and halves.
void pack_words(const PackSource&, int64_t rows, int64_t columns, char* to, int64_t pitch);
/// Copies rows 2i and 2i + 1 (zero beyond the last) as pairs of int16 or bfloat16: pair (i, j) goes to to + i
/// * pitch + 4
/// * j.
void pack_pairs(const PackSource&, int64_t rows, int64_t columns, char* to, int64_t pitch);
/// Copies bytes, an int8 raised by 128 to a uint8 if `raised`, with as many zeros behind them as make quads.
/// For the left side of quads.
void pack_bytes(const PackSource&, bool raised, int64_t rows, int64_t columns, char* to, int64_t pitch);
/// Copies rows 4i to 4i + 3 (zero beyond the last) of int8: quad (i, j) goes to to + i * pitch + 4 * j.
void pack_quads(const PackSource&, int64_t rows, int64_t columns, char* to, int64_t pitch);
/// Sets sums[j] to -128 times the sum of column j, which takes back what raising the left side adds to a
/// product.
void sums_of_raised(const PackSource&, int64_t rows, int64_t columns, int32_t* sums);

}  // namespace lazy::cpu_backend
