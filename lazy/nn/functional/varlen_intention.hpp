// Says which calls are intentions of attention over sequences. Internal to lazy/.
#pragma once
#include "jit/calls/call.hpp"

namespace lazy::detail {

/// Returns the call that an intention of attention, or of its gradients, is expanded to where a backend runs
/// it (jit/built_in/nn/varlen_attention.hpp); null for any other.
const jit::CallDefinition* varlen_call_of(const jit::CallSpec&);

}  // namespace lazy::detail
