// Differentiates gradients that a kernel computes: where that is asked for, they are made of ops. Internal to
// lazy/.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "jit/calls/call.hpp"
#include "lazy/core/build.hpp"

namespace lazy::detail {

/// Records gradients, of ops, from all operands of the call that gives them.
using GradientsOfOps = std::function<std::vector<Handle>(std::vector<Handle> operands)>;

/// Returns the gradients of a call whose outputs are gradients themselves, by the operands with these
/// numbers. `record` records those outputs; results of the forward pass that are among the operands it makes
/// anew from the others, so that what depends on them is in the gradients of those.
std::vector<Handle> differentiate_gradients(const jit::CallGradients&, std::span<const size_t> by,
                                            const GradientsOfOps& record);

}  // namespace lazy::detail
