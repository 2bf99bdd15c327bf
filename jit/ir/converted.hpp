// Products whose sides are converted on their way from memory, as in matmul(astype(a, bfloat16), ...): as
// conversions, which are maps, and a product of what they make, which libraries and tensor cores can do.
#pragma once
#include <optional>
#include <vector>

#include "jit/ir/product.hpp"

namespace lazy::jit::loop {

/// One operand converted to another type: `kernel` has two, what is read and what is made, packed, and goes
/// along those axes of the product that the operand moves along.
struct Conversion {
  LoopKernel kernel;
  std::vector<int> axes;  // of the product, for each of the kernel's
  uint16_t operand = 0;   // of the kernel; of the product it is what is made
};
struct ConvertedProduct {
  LoopKernel product;  // product_of() takes it; operands and scalars are the kernel's but for those converted
  std::vector<Conversion> conversions;
};
/// Nothing if it is a product of operands of one type as it is, or would not be with its sides converted
/// either. Results are the kernel's to the bit.
std::optional<ConvertedProduct> with_converted_sides(const LoopKernel&);

}  // namespace lazy::jit::loop
