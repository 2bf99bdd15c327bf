// Writes a model's values as Hugging Face's folders have them. Internal to lazy/training.
#pragma once
#include <string>

#include "lazy/core/named.hpp"

namespace lazy::training::detail {

/// Writes model.safetensors, or several files of at most so many bytes of values (one value may be larger)
/// and their index. Files that an older model of more or fewer ones has left are removed. IoError.
void write_model(const char* op, const std::string& folder, const NamedTensors& state, int64_t most_bytes,
                 const Site& s);

}  // namespace lazy::training::detail
