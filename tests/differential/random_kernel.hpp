// Makes random loop kernels with arguments to launch them on. Everything follows from one seed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "jit/ir/ir.hpp"

namespace lazy::test {

/// Says what an operand's numbers are like.
enum class Values : uint8_t {
  small,    // small integers and quarters: equal ones are common, integer sums and products stay exact
  range,    // many magnitudes
  special,  // NaN, infinities, zeros of both signs, denormals, extremes among them
  bits,     // any bit pattern
};

/// Describes how one operand lies in memory.
struct OperandPlan {
  std::vector<int64_t> strides;  // in bytes, one per axis
  Values values = Values::small;
  uint32_t tag = 0;     // decides the values, with the case's seed: unchanged when operands are renumbered
  bool at_end = true;   // ends right before an unmapped page, or starts right after one
  int shift = 0;        // moved away from that page by so many bytes
  int overwrites = -1;  // an output in the memory of this input, element by element
  // Set for an operand that is read or written at an index of an axis along which it does not move by itself:
  // the axis, and the scalars that hold its extent there (at least 1) and its stride in elements.
  int indexed = -1;
  int extent_scalar = -1, stride_scalar = -1;
};

struct Case {
  jit::loop::LoopKernel kernel;
  std::vector<int64_t> extents, origins;
  std::vector<uint64_t> scalars;
  std::vector<OperandPlan> plans;
  uint64_t seed = 0;
};

/// Returns how many indices of an axis an operand has in memory.
int64_t extent_in_memory(const Case&, size_t operand, int axis);

Case random_case(uint64_t seed);
/// Describes the kernel, its extents and its operands' layouts.
std::string describe(const Case&);
/// Returns the case without code that no store needs; operands, scalars and instructions are renumbered.
Case without_dead_code(const Case&);
/// Returns cases that are smaller in some way: fewer stores or instructions, shorter axes, simpler memory.
std::vector<Case> smaller(const Case&);

/// Returns the `index`th number of a stream: its low bytes are a value of type `t`.
uint64_t random_value(DType t, Values kind, uint64_t seed, uint64_t index);

}  // namespace lazy::test
