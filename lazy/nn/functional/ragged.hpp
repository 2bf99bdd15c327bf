// Holds sequences of different lengths without padding. Functions that work row by row take `values` as they
// are: linear(), norms, activations, embedding(), losses; attention takes a Ragged.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "lazy/core/tensor.hpp"

namespace lazy {

/// Holds N sequences one behind the other. How many there are and how long they are is data: programs are
/// the same for all.
struct Ragged {
  Tensor values;   // (total, ...): rows of all sequences
  Tensor offsets;  // (N + 1), int64: sequence n has rows [offsets[n], offsets[n + 1]); the last one is total

  /// Returns N.
  int64_t count(Site s = Site::current()) const { return offsets.size(0, s) - 1; }
  /// Returns the lengths, (N), int64.
  Tensor lengths(Site s = Site::current()) const;
  /// Returns sequences of the same lengths with other rows. ShapeError for another number of rows.
  Ragged with(Arg rows) const;
  /// Returns (N, length, ...): rows behind a sequence's end are `fill`, those behind `length` are left out.
  Tensor to_padded(IntegerArg length, ScalarNumber fill = 0.0, Site s = Site::current()) const;
};

/// Joins sequences (length, ...) of one dtype. ShapeError for none, and where they differ in more than their
/// lengths.
Ragged ragged(const std::vector<Tensor>& sequences, Site s = Site::current());
/// Takes the first lengths[n] rows of each padded[n] of (N, T, ...). ShapeError unless there are N lengths,
/// each in [0, T].
Ragged ragged(Arg padded, std::span<const int64_t> lengths);
inline Ragged ragged(Arg padded, std::initializer_list<int64_t> lengths) {
  return ragged(std::move(padded), std::span(lengths.begin(), lengths.size()));
}
/// Likewise for lengths of integers (DtypeError otherwise), which it reads: what is pending for them is
/// computed.
Ragged ragged(Arg padded, const Tensor& lengths);

}  // namespace lazy
