// Says whether a thread records of one sample what will be recorded of many (lazy/batching).
#pragma once

namespace lazy::detail {

/// Counts the scopes of this thread in which values are samples of batches. One row is multiplied as a matrix
/// there, for there will be many.
extern thread_local constinit int samples_followed;

}  // namespace lazy::detail
