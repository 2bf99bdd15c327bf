// Declares how products with groups of small integers are done with vectors of one width. Sixteen sums are
// added to in turn, whatever the width, so that results are the same for all.
#pragma once
#include <cstdint>

#include "jit/built_in/nn/group_dots.hpp"

namespace lazy::cpu_backend::group_dots {

using jit::calls::GroupDots;
constexpr int64_t kLanes = 16;
constexpr int64_t kBlock = 128;  // integers of 4 bits in 64 bytes

/// Holds a run, and for each row of x, where zeros differ from 0, the sum of each group.
struct Work {
  const GroupDots& d;
  const float* group_sums;  // (R, G)
  /// x where it is int8, in blocks of kBlock elements, zero beyond the last: of each block first those that
  /// are multiplied by lower halves of bytes, then those by upper ones.
  const int8_t* x_blocks;

  int64_t blocks() const { return (d.depth + kBlock - 1) / kBlock; }
};

/// Computes columns [first, last) of all rows.
using Columns = void (*)(const Work&, int64_t first, int64_t last);
/// Computes Work::group_sums.
using GroupSums = void (*)(const GroupDots&, float* sums);

/// Writes rows [first, last) of the matrix that the integers stand for.
using Write = void (*)(const GroupDots&, int64_t first, int64_t last);

struct Level {
  const char* name;
  Columns columns;
  GroupSums sums;
  Write write;
};
extern const Level kAvx2, kAvx512;

}  // namespace lazy::cpu_backend::group_dots
