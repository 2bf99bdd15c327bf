// Takes factors and shifts of channels into weights and biases, for intentions that are linear in both
// (jit::CallDefinition::with_channels). Internal to lazy/.
#pragma once
#include "jit/calls/call.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy::detail {

/// Returns weights whose axis `axis` are the channels, each times its factor: computed in the factors' dtype,
/// rounded to that of the weights.
Handle with_factors(const Recorder&, const Handle& weights, int axis, const jit::ChannelMap&);
/// Returns a bias, (channels) or none, times the factors, plus the shifts, in dtype `t`.
Handle with_shifts(const Recorder&, const Handle& bias, DType t, const jit::ChannelMap&);

}  // namespace lazy::detail
