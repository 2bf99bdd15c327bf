// Lets a scope decide in which dtype functions take their operands. They ask before dtypes are promoted, so
// what is recorded has no part in it, and no key: casts are ops like any others, with their gradients.
// Automatic mixed precision is such a policy. Internal to lazy/.
//
// matmul and its kin, multi_dot, einsum, linear, bilinear, convolutions, scaled_dot_product_attention,
// recurrent layers and prelu ask, each once for a call of the user's, by its name. A dtype that the user gave
// is not asked about. Other functions ask only where their arguments promote to 16 bits. What an intention is
// expanded to asks nobody.
#pragma once
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>

#include "lazy/core/tensor.hpp"

namespace lazy::detail {

class Policy {
 public:
  /// Returns the dtype in which the function takes its operands; nothing for the one to which they promote.
  /// `optional` tensors may be undefined. What it throws is thrown at the user's line.
  virtual std::optional<DType> operand_type(const char* function, std::span<const Arg* const> arguments,
                                            std::span<const Tensor* const> optional) = 0;
  /// Returns the dtype in which another function takes arguments that promote to `t`, which has 16 bits.
  virtual DType argument_type(const char* /*function*/, DType t, Device) { return t; }

 protected:
  ~Policy() = default;
};

/// Has the thread's contractions ask a policy, for a scope; none for a null one. They nest: the innermost is
/// asked. Other threads don't inherit it.
class PolicyScope {
 public:
  explicit PolicyScope(Policy* p) noexcept : outer_(std::exchange(current_, p)) {}
  PolicyScope(const PolicyScope&) = delete;
  ~PolicyScope() { current_ = outer_; }
  static Policy* current() noexcept { return current_; }

 private:
  Policy* const outer_;
  static thread_local constinit Policy* current_;
};

/// Returns the dtype in which a contraction takes its operands: what the policy says, else the dtype to which
/// the arguments, and those optional tensors that are given, promote (DtypeError).
DType contraction_type(const char* function, std::span<const Arg* const> arguments,
                       std::span<const Tensor* const> optional = {});
inline DType contraction_type(const char* function, std::initializer_list<const Arg*> arguments,
                              std::initializer_list<const Tensor*> optional = {}) {
  return contraction_type(function, std::span(arguments.begin(), arguments.size()),
                          std::span(optional.begin(), optional.size()));
}

/// Returns the dtype in which a function that is no contraction takes arguments that promote to `t`: what the
/// thread's policy, which there is, says.
DType asked_type(const char* function, DType t, Device);

}  // namespace lazy::detail
