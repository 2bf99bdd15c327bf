// Holds what a decoder remembers of the tokens before.
#pragma once
#include <cstdint>
#include <vector>

#include "lazy/core/tensor.hpp"

namespace lazy::models {

/// Holds keys and values of the tokens before, so that each token is computed once. One program serves every
/// position: where a token stands is no part of the key.
struct KeyValueCache {
  std::vector<Tensor> keys, values;  // of each layer, (N, key-value heads, positions, width of a head)
  int64_t length = 0;                // how many tokens there are

  /// Puts the tokens of sequence rows[i] in the place of sequence i's: rows (M) integers, after which there
  /// are M sequences. IndexError, when a value is computed, for rows that are out of range.
  void reorder(const Tensor& rows, Site s = Site::current());
};

}  // namespace lazy::models
