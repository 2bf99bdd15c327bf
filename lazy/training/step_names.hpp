// Names checkpoints by their steps, and finds them in a folder. Internal to lazy/training.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/site.hpp"

namespace lazy::training::detail {

inline constexpr std::string_view kStepPrefix = "checkpoint-";

/// Returns "checkpoint-000000000012".
std::string name_of_step(int64_t step);
/// Returns the step that such a name tells, without an ending; none for other names.
std::optional<int64_t> step_of_name(std::string_view name);
/// Reads a number that fills the text. False for anything else.
bool number_of(std::string_view text, int64_t& v);
/// Returns the names of what is in a folder. IoError, of `op`.
std::vector<std::string> names_in(const char* op, const std::string& folder, const Site& s);

}  // namespace lazy::training::detail
