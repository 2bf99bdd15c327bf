// Describes kernels that go along the same rows, one after the other. A device may run them as one kernel, a
// row at a time, with values that only they need in on-chip memory. Softmax, say: the largest element; exp of
// what is left and the sum of that; the quotients.
#pragma once
#include <string>
#include <vector>

#include "jit/ir/ir.hpp"

namespace lazy::jit::loop {

/// Lists kernels that have their rows in common.
/// Invariant: the last axis of each kernel runs along the row; a `reduce` reduces that axis.
/// Invariant: all other axes are parallel, and are the same rows in the same order in each kernel, though
/// perhaps divided into axes in another way: the n-th row is the n-th index of a kernel's axes but the last,
/// in row-major order. Rows may have another length in each kernel. Only an attention (jit/ir/attention.hpp)
/// has members that are products; its last one sums along the row.
struct FusedRows {
  static constexpr int16_t kOutside = -1;
  struct Member {
    LoopKernel kernel;
    // By operand: its index into FusedRows::inner, or kOutside: it is in the memory that the arguments say.
    std::vector<int16_t> inner;
  };
  /// Describes a value that lives as long as its row: one member writes it, later ones read it.
  struct Inner {
    DType dtype{};
    bool whole = false;  // true: it has an element for each index along the row; false: one element
  };
  std::vector<Member> members;
  std::vector<Inner> inner;
};

/// Returns the bytes that decide the generated code, as loop::identity does for one kernel.
std::string identity(const FusedRows&);

/// Arguments of a launch are those of the members, one after the other (layout_of each kernel); the first
/// one's word kContext counts. An inner operand's pointer is the offset, in bytes, of the first element that
/// it reads in the row's memory of that value (0 of a value that is not `whole`); its strides along the other
/// axes mean nothing. An inner value that is `whole` has as many elements as the rows of the member that
/// writes it are long.

}  // namespace lazy::jit::loop
