// Helps to write JSON.
#pragma once
#include <string>
#include <string_view>

namespace lazy::json {

/// Appends `s` as a string literal. The caller has to see to valid UTF-8.
inline void quote(std::string& out, std::string_view s) {
  constexpr const char* hex = "0123456789abcdef";
  out += '"';
  for (const char c : s) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if (c == '\n') out += "\\n";
    else if (byte < 0x20) (((out += "\\u00") += hex[byte >> 4]) += hex[byte & 15]);
    else out += c;
  }
  out += '"';
}
inline std::string quoted(std::string_view s) {
  std::string out;
  quote(out, s);
  return out;
}

}  // namespace lazy::json
