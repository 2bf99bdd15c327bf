// Takes products apart whose sides are converted on their way from memory, as in matmul(astype(a, bfloat16),
// ...): into conversions, which are maps, and a product of what they make, which libraries and tensor cores
// can do.
#pragma once
#include <optional>
#include <vector>

#include "jit/ir/product.hpp"

namespace lazy::jit::loop {

/// Converts one operand to another type: `kernel` has two operands, what is read and what is made, packed.
/// Its axes are those of the product along which the operand moves.
struct Conversion {
  LoopKernel kernel;
  std::vector<int> axes;  // by axis of `kernel`: the product's axis
  uint16_t operand = 0;   // index of the operand, in the original kernel and in the product
};
struct ConvertedProduct {
  LoopKernel product;  // product_of() takes it; operands and scalars are the kernel's but for those converted
  std::vector<Conversion> conversions;
};
/// Takes the kernel apart. Returns nothing if it is a product of operands of one type as it is, or if
/// converting its sides would not make it one.
/// Invariant: results are the kernel's to the bit.
std::optional<ConvertedProduct> with_converted_sides(const LoopKernel&);

}  // namespace lazy::jit::loop
