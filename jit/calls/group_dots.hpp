// Declares products of rows by a matrix of small integers, each group of which has a scale.
//
//   group_dots   x (R, K), q (N, B), scale (N, G) [, zero (N, G)]   ->  y (R, N)
//
// y[r, n] is the sum over groups g of scale[n, g] (sum over k in g of x[r, k] (q[n, k] - zero[n, g])). x,
// scale, zero and y are float32. Groups are of `group` neighbouring k, a power of two of 32 or more.
//
// Integers of 8 bits are int8, B = K, and lie as they are; without zero[] it is 0. Those of 4 bits, 0 to 15,
// are uint8, two in a byte, in blocks of 128: number i of word d of a block's 16 words of 32 bits, counted
// from the lowest bits, is element 16 i + d; without zero[] it is 8. K is a multiple of 128 and of the group.
#pragma once
#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

struct GroupDotsAttributes {
  int32_t bits = 8;   // 4 or 8
  int32_t group = 0;  // k of a group
};

constexpr int64_t kGroupDotsBlock = 128;

/// Holds a run's extents and memory.
struct GroupDots {
  GroupDotsAttributes how;
  int64_t rows, columns, depth, groups;  // R, N, K, G
  const float* x;
  const uint8_t* q;
  const float *scale, *zero;  // zero: null if it is the same for all
  float* y;

  explicit GroupDots(const CallRun& r)
      : how(r.spec.as<GroupDotsAttributes>()),
        rows(r.operands[0].shape[0]),
        columns(r.operands[1].shape[0]),
        depth(r.operands[0].shape[1]),
        groups(r.operands[2].shape[1]),
        x(reinterpret_cast<const float*>(r.in[0])),
        q(reinterpret_cast<const uint8_t*>(r.in[1])),
        scale(reinterpret_cast<const float*>(r.in[2])),
        zero(r.operands.size() > 3 ? reinterpret_cast<const float*>(r.in[3]) : nullptr),
        y(reinterpret_cast<float*>(r.out[0])) {}
  int64_t row_bytes() const { return how.bits == 4 ? depth / 2 : depth; }
  float zero_of_all() const { return how.bits == 4 ? 8.0f : 0.0f; }
};

extern const CallDefinition kGroupDots;

}  // namespace lazy::jit::calls
