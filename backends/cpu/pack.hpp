// Copies of a contraction's sides in the order that its generated code reads: converted to lanes, transposed
// where that makes neighbours of what is read together. Needs AVX2 and F16C.
#pragma once
#include <cstdint>

#include "backends/cpu/emitter/contraction.hpp"

namespace lazy::cpu {

/// Element (i, j) is at data + i * row + j * column (bytes).
struct PackSource {
  const char* data;
  int64_t row, column;
  DType type;
};

/// Lane (i, j) goes to to + i * pitch + j lanes, for `rows` by `columns` elements. Not for pairs.
void pack(const PackSource&, ContractionLane, int64_t rows, int64_t columns, char* to, int64_t pitch);
/// As above, as int16; an odd count of columns gets a zero behind it. What the left side of pairs is.
void pack_words(const PackSource&, int64_t rows, int64_t columns, char* to, int64_t pitch);
/// Rows 2i and 2i + 1 (zero beyond the last) as pairs of int16: pair (i, j) goes to to + i * pitch + 4 * j.
void pack_pairs(const PackSource&, int64_t rows, int64_t columns, char* to, int64_t pitch);

}  // namespace lazy::cpu
