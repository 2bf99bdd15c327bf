// Maps that do nothing but copy, of which neighbours in memory become rows: a gather for each vector would
// read a cache line for each element. Tiles are transposed in registers instead
// (backends/cpu/packing/pack.hpp).
#pragma once
#include <optional>

#include "jit/ir/ir.hpp"

namespace lazy::cpu_backend {

/// What helper_copy_transposed must know of a kernel: what its strides are by the kernel's word, in two bits
/// an axis; rank, bytes of an element, which operand is written.
struct CopyForm {
  int rank = 0, size = 0, output = 0;
  jit::loop::Stride stride[jit::loop::kMaxAxes] = {};  // of the operand read

  int pack() const;
  static CopyForm unpack(int);
};
/// Of a kernel that may be such a copy; whether a launch is one is seen from its strides.
std::optional<CopyForm> copy_form(const jit::loop::LoopKernel&);
/// Does a launch if it is such a copy; see Call::copy_transposed.
void helper_copy_transposed(const void* args, const void*, void* done, int form);

}  // namespace lazy::cpu_backend
