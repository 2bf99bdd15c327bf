// Reads base64, as JSON has bytes.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace lazy::text::files {

/// Returns the bytes; none if the text is no base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace lazy::text::files
