// Recognises kernels that are matrix products of two operands as they lie in memory. A library can compute
// these.
#pragma once
#include <optional>

#include "jit/ir/ir.hpp"

namespace lazy::jit::loop {

/// Describes out[batch..., m, n] = sum over k of left[batch..., m, k] * right[batch..., k, n], then the
/// kernel's epilogue.
struct Product {
  // Indices of operands. The left one does not move along columns, the right one not along rows.
  uint16_t left = 0, right = 0;
  DType left_type{}, right_type{};  // in memory
  DType sum_type{};                 // both sides are widened to it, and added up in it
  int row_axis = -1;                // axis of the kernel; -1: one row
  int column_axis = 0;              // axis of the kernel, the last one
  int summed_axis = 0;              // axis of the kernel
  std::vector<int> batch_axes;      // all other axes of the kernel
  /// Index of the output operand, if the epilogue does nothing but store the sum, plus `bias` if there is
  /// one, rounded to the output's type; -1 if it does more.
  int plain_output = -1;
  int bias = -1;  // index of an operand of the output's type that moves along columns only; -1: none
};
/// Returns the product that the kernel is; nothing for other reductions, sides that are computed, and
/// integers.
std::optional<Product> product_of(const LoopKernel&);

/// Holds the product's epilogue as a separate map: the sum is another input, the last operand. Axes are those
/// of the product without the summed one.
struct Epilogue {
  LoopKernel kernel;
  std::vector<uint16_t> operands;  // by operand of `kernel` but the last: the product's
  std::vector<uint16_t> scalars;   // by scalar of `kernel`: the product's
};
Epilogue epilogue_of(const LoopKernel&, const Product&);

}  // namespace lazy::jit::loop
