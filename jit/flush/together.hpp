// Lets one flush compute values that are asked for together, though nothing connects them.
#pragma once
#include <span>

#include "jit/graph/handle.hpp"
#include "support/site.hpp"

namespace lazy::jit {

/// Joins the components of those that are pending: one for each graph and device, or several if they are
/// many.
void join_for_flush(std::span<const Handle* const>, const Site&);

}  // namespace lazy::jit
