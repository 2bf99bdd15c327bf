// Runs maps that do nothing but copy and that transpose: neighbours in memory become rows. A gather for each
// vector would read a cache line for each element, so tiles are transposed in registers
// (backends/cpu/packing/pack.hpp).
#pragma once
#include <optional>

#include "jit/ir/ir.hpp"

namespace lazy::cpu_backend {

/// Describes a kernel to helper_copy_transposed: what the kernel says of its strides, in two bits an axis;
/// rank, bytes of an element, which operand is written.
struct CopyForm {
  int rank = 0, size = 0, output = 0;
  jit::loop::Stride stride[jit::loop::kMaxAxes] = {};  // of the operand read

  int pack() const;
  static CopyForm unpack(int);
};
/// Describes a kernel that may be such a copy. Whether a launch is one is seen from its strides.
std::optional<CopyForm> copy_form(const jit::loop::LoopKernel&);
/// Does a launch if it is such a copy; see Call::copy_transposed.
void helper_copy_transposed(const void* args, const void*, void* done, int form);

}  // namespace lazy::cpu_backend
