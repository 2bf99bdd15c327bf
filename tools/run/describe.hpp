// Tells what a model's file has.
#pragma once
#include <string>

#include "nlohmann/json.hpp"

namespace lazy::tool {

/// Returns what ModelFile::describe() gives as text.
std::string description_text(const nlohmann::ordered_json&);

}  // namespace lazy::tool
