// Lets a thread record of one sample what is recorded of many beside it (lazy/batching).
#pragma once
#include "jit/graph/record.hpp"

namespace lazy::detail {

/// Counts the scopes of this thread in which values are samples of batches. One row is multiplied as a matrix
/// there, for there will be many.
extern thread_local constinit int samples_followed;

/// Returns a value that stands for one of many and never has one of its own. It is pending, so derivations
/// are attached to it as to any other; no observer is told of it.
jit::Handle sample_of(DType, const Shape&, Device, const Site&);

}  // namespace lazy::detail
