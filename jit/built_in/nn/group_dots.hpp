// Declares products of rows by a matrix of small integers, each group of which has a scale.
//
//   group_dots     x (R, K), q (N, B), scale (N, G) [, zero (N, G)]   ->  y (R, N)
//   group_numbers  q (N, B), scale (N, G) [, zero (N, G)]             ->  w (N, K)
//
// w[n, k] is scale[n, g] (q[n, k] - zero[n, g]), g the group of k, and y[r, n] the sum over groups g of
// scale[n, g] (sum over k in g of x[r, k] (q[n, k] - zero[n, g])). x, scale, zero, y and w are float32;
// beside integers of 4 bits x may be int8, too. Groups are of `group` neighbouring k, a power of two of 32 or
// more, of 16 or more for integers of 8 bits.
//
// Integers of 8 bits are int8, B = K, and lie as they are; without zero[] it is 0. Those of 4 bits, 0 to 15,
// are uint8, two in a byte, in blocks of 32: the lower half of byte i of a block is element i, the upper one
// element 16 + i, as in GGML's Q4_0; without zero[] it is 8. K is a multiple of the group.
#pragma once
#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

struct GroupDotsAttributes {
  int32_t bits = 8;   // 4 or 8
  int32_t group = 0;  // k of a group
};

constexpr int64_t kGroupDotsBlock = 32;

/// Holds a run's extents and memory.
struct GroupDots {
  GroupDotsAttributes how;
  int64_t rows, columns, depth, groups;  // R, N, K, G
  const float* x;                        // null where it is int8
  const int8_t* x_bytes;                 // null where it is float32
  const uint8_t* q;
  const float *scale, *zero;  // zero: null if it is the same for all
  float* y;                   // or w; null if nobody reads it

  /// Takes the run of either call; without x that is null, and there are no rows.
  GroupDots(const CallRun& r, bool has_x)
      : how(r.spec.as<GroupDotsAttributes>()),
        rows(has_x ? r.operands[0].shape[0] : 0),
        columns(r.operands[has_x].shape[0]),
        depth(r.operands[has_x + 1].shape[1] * how.group),
        groups(r.operands[has_x + 1].shape[1]),
        x(has_x && r.operands[0].dtype == float32 ? reinterpret_cast<const float*>(r.in[0]) : nullptr),
        x_bytes(has_x && !x ? reinterpret_cast<const int8_t*>(r.in[0]) : nullptr),
        q(reinterpret_cast<const uint8_t*>(r.in[has_x])),
        scale(reinterpret_cast<const float*>(r.in[has_x + 1])),
        zero(r.operands.size() > has_x + 2u ? reinterpret_cast<const float*>(r.in[has_x + 2]) : nullptr),
        y(reinterpret_cast<float*>(r.out[0])) {}
  int64_t row_bytes() const { return how.bits == 4 ? depth / 2 : depth; }
  float zero_of_all() const { return how.bits == 4 ? 8.0f : 0.0f; }
};

extern const CallDefinition kGroupDots, kGroupNumbers;

}  // namespace lazy::jit::calls
