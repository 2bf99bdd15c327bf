// Puts gradients of slices together. Internal to lazy/.
#pragma once
#include <vector>

#include "lazy/autograd/rules.hpp"

namespace lazy::detail {

/// Returns the gradient of the value from those of its parts: side by side if they are all of it, without a
/// pass for zeros; else zeros that each part is added to.
Handle put_together(const Handle& value, std::vector<Gradients::Part> parts);

}  // namespace lazy::detail
