// Kernels that go along the same rows one after the other: what a device may run as one, a row at a time,
// with values that only they need in memory of its own (softmax: the largest element, e to what is left,
// their sum, the quotients).
#pragma once
#include <string>
#include <vector>

#include "jit/ir/ir.hpp"

namespace lazy::jit::loop {

/// The last axis of each kernel runs along the row: it is what a `reduce` reduces and a `map` has for its
/// last axis. All others are parallel, and the same rows in the same order in each kernel, though perhaps cut
/// into axes otherwise: the n-th row is the n-th index of a kernel's axes but the last, in row-major order.
/// Rows may have another length in each kernel. Members that are products, of whose rows the summed axis is
/// no part, there are in an attention only (jit/ir/attention.hpp): its last one sums along the row.
struct FusedRows {
  static constexpr int16_t kOutside = -1;
  struct Member {
    LoopKernel kernel;
    std::vector<int16_t>
        inner;  // by operand: which of `inner` it is, or kOutside: memory as the arguments say
  };
  /// A value that lives as long as its row. Written by one member, then read by later ones.
  struct Inner {
    DType dtype{};
    bool whole = false;  // an element for each index along the row; otherwise one, which does not move
  };
  std::vector<Member> members;
  std::vector<Inner> inner;
};

/// As loop::identity.
std::string identity(const FusedRows&);

/// Arguments of a launch are those of the members, one after the other (layout_of each kernel); the first
/// one's word kContext counts. An inner operand's pointer is the offset, in bytes, of the first element that
/// it reads in the row's memory of that value (0 of a value that is not whole); its strides along the other
/// axes mean nothing. An inner value that is whole has as many elements as the rows of the member that writes
/// it are long.

}  // namespace lazy::jit::loop
