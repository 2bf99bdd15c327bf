// Marks values as ones that stay: what is computed from them alone is computed once (LAZY_KEEP_MB).
#pragma once
#include "lazy/core/tensor.hpp"
#include "support/site.hpp"

namespace lazy::detail {

/// Promises that nobody writes to the memory of this value any more, nor to that of values that it is a part
/// of. It is computed if it is pending. Updating a variable that holds it (x += 1, x(0) = 1) is fine: the
/// variable then has memory of its own, which is not marked. Memory of the user's (from_blob) is the user's
/// to leave as it is.
void mark_unchanging(const Tensor&, Site s = Site::current());

/// Throws Error, which names thaw(), if the variable is a frozen parameter (lazy/autograd/parameter.hpp).
void check_thawed(const char* op, const Tensor& variable, const Site&);

}  // namespace lazy::detail
