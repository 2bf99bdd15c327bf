// Finds out what is UTF-8.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace lazy::utf8 {

/// Returns how many bytes from `at` on are a character of UTF-8, or, negative, how many of them are none
/// together: one U+FFFD stands for these.
int well_formed(std::string_view text, size_t at);
/// Returns the text with U+FFFD in the place of what is no UTF-8.
std::string repaired(std::string_view text);

}  // namespace lazy::utf8
