// Brings characters into Unicode's normal forms, and says of each result what it stands for.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace lazy::text::unicode {

/// Holds a character of a changed text. `change` says how it came about: 0 in the place of one character, 1
/// in addition to the one before, -n in the place of n + 1 characters.
struct Change {
  char32_t character;
  int32_t change;
};

enum class NormalForm : uint8_t { nfc, nfd, nfkc, nfkd };

/// Returns whether a text is in a form already, as far as that can be seen at once: all of it is below the
/// first character that the form changes.
bool is_surely_normal(NormalForm, std::string_view text);
/// Returns the characters of a text in a form. Invariant: it is UTF-8.
std::vector<Change> normal_form(NormalForm, std::string_view text);

}  // namespace lazy::text::unicode
