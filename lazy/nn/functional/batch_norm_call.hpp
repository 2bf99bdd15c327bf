// Tells of a recorded batch norm by running statistics. Internal to lazy/.
#pragma once
#include <optional>

#include "jit/calls/call.hpp"
#include "lazy/core/tensor.hpp"
#include "lazy/nn/functional/convolution.hpp"

namespace lazy::detail {

/// Describes the call, whose operands are x, mean, variance, eps (a constant), and the weight and the bias,
/// if there are some.
struct BatchNormCall {
  ChannelLayout layout;
  bool weighted, biased;
};
/// Returns what the call says; nothing for another one.
std::optional<BatchNormCall> batch_norm_call_of(const jit::CallSpec&);

}  // namespace lazy::detail
