// Tells what a model's file has.
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "nlohmann/json.hpp"

namespace lazy::tool {

/// Describes a file without running it: opset, inputs, outputs, operators with counts, parameters. Operators
/// that are not supported are described as well. IoError for a file that is no model.
nlohmann::ordered_json describe_file(const std::filesystem::path&);
/// Returns the same as text.
std::string description_text(const nlohmann::ordered_json&);

}  // namespace lazy::tool
