// Mixed precision by scope: products, convolutions, attention and recurrent layers take float32 operands in
// 16 bits, what needs the range or the digits (losses, decompositions) takes 16-bit operands in float32, and
// all else stays as it is.
//
//   optim::AdamW optimizer(model.named_parameters(), {.lr = 3e-4});
//   for (auto [x, y] : batches) {
//     optimizer.zero_grad();
//     Tensor loss;
//     {
//       const autocast scope(bfloat16);
//       loss = cross_entropy(model(x), y);
//     }
//     loss.backward();                  // gradients are of the parameters' dtype
//     optimizer.step();
//     eval(loss);
//   }
//
// The casts are ops like any others: they are fused, have gradients, and those of weights that stay
// (load_safetensors) are computed once. Nothing of the scope is in the key of a program. float64 and integers
// are left alone. Which functions do what follows torch's tables, of which there is one for the CPU and one
// for GPUs; autocast_table() returns them. A dtype that is given to a function is not changed.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lazy/core/policy.hpp"

namespace lazy {

/// Has the calling thread record in mixed precision for a scope. Scopes nest; other threads don't inherit it.
class autocast : private detail::Policy {
 public:
  /// DtypeError unless `dtype` is bfloat16 or float16.
  explicit autocast(DType dtype = bfloat16, Site = Site::current());
  /// Leaves dtypes as they are in a scope within another: `autocast off(false);`.
  explicit autocast(bool enabled, Site = Site::current());

 private:
  std::optional<DType> operand_type(const char* function, std::span<const Arg* const> arguments,
                                    std::span<const Tensor* const> optional) override;
  DType argument_type(const char* function, DType, Device) override;

  const DType dtype_;
  const detail::PolicyScope scope_;
};

/// True if an autocast is in force on this thread.
bool is_autocast_enabled() noexcept;

/// Says how autocast treats a function.
struct AutocastRule {
  std::string function;  // by the name that its errors begin with
  DType takes;           // bfloat16 stands for the scope's dtype; float32
};
/// Returns the functions of a kind of device that autocast has a rule for, by name. Others take what they are
/// given; where dtypes differ, the wider one.
std::vector<AutocastRule> autocast_table(DeviceKind);

}  // namespace lazy
