// Records calls of layers that take batches themselves, of samples, as one call of a larger batch. Internal
// to lazy/.
#pragma once
#include <vector>

#include "lazy/core/record.hpp"

namespace lazy::detail {

/// True for an intention that is recorded as one of a larger batch, not expanded for a sample: it has the
/// derivative. `operand` says on which device.
bool stays_whole(const jit::CallSpec&, const Handle& operand);

/// Records the call of so many samples at once: a recurrent layer's with more sequences to a step, an
/// attention's with more sequences behind one another. `batches` are those of its operands, empty for one
/// that is the same for each sample. Returns the batches of its outputs; nothing for another call, or where
/// samples have weights of their own.
std::vector<Handle> as_larger_batch(const RecordedCall&, const std::vector<Handle>& batches, int64_t samples);

}  // namespace lazy::detail
