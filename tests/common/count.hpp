// Counts parts of texts.
#pragma once
#include <string>

namespace lazy::test {

/// Returns how often a text has another.
inline size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace lazy::test
