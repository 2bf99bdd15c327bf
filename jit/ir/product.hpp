// Kernels that are matrix products of two operands as they lie in memory: what a library can do in their
// place.
#pragma once
#include <optional>

#include "jit/ir/ir.hpp"

namespace lazy::jit::loop {

/// out[batch..., m, n] = sum over k of left[batch..., m, k] * right[batch..., k, n], then the kernel's
/// epilogue.
struct Product {
  uint16_t left = 0, right = 0;     // operands; left does not move along columns, right not along rows
  DType left_type{}, right_type{};  // as they are in memory
  DType sum_type{};                 // that they are widened to, and added up in
  int row_axis = -1;                // of the kernel; -1: one row
  int column_axis = 0;              // the last one
  int summed_axis = 0;
  std::vector<int> batch_axes;  // all others
  /// The epilogue does nothing but store the sum, plus `bias` if there is one, rounded to the output's type:
  /// operand; -1: it does more.
  int plain_output = -1;
  int bias = -1;  // operand of the output's type that moves along columns only
};
/// Nothing if the kernel is not one: other reductions, sides that are computed, integers.
std::optional<Product> product_of(const LoopKernel&);

/// The product's epilogue as a map of its own: the sum is another input, the last operand. Axes are those of
/// the product without the summed one.
struct Epilogue {
  LoopKernel kernel;
  std::vector<uint16_t> operands;  // of the product, for each of the kernel's but the last
  std::vector<uint16_t> scalars;   // likewise
};
Epilogue epilogue_of(const LoopKernel&, const Product&);

}  // namespace lazy::jit::loop
