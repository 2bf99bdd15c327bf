// Says where the rows of a contraction can be.
#pragma once
#include "jit/ir/ir.hpp"

namespace lazy::jit::loop {

/// Returns the last axis before the columns other than depth, which can have the rows; -1 if there is none.
constexpr int axis_before_columns(const LoopKernel& k) {
  return k.sequential == k.rank - 2 ? k.rank - 3 : k.rank - 2;
}

}  // namespace lazy::jit::loop
