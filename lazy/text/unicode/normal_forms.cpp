#include "lazy/text/unicode/normal_forms.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::unicode {
namespace {

using Code = utf8proc_int32_t;

int combining_class(char32_t c) {
  return c < 0x300 ? 0 : utf8proc_get_property(static_cast<Code>(c))->combining_class;
}

/// Returns the character that two compose to; 0 if they don't.
char32_t composed(char32_t a, char32_t b) {
  std::array<Code, 2> pair{static_cast<Code>(a), static_cast<Code>(b)};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  return utf8proc_normalize_utf32(pair.data(), 2, options) == 1 ? static_cast<char32_t>(pair[0]) : 0;
}

/// Returns the characters that a text decomposes to, marks in their canonical order.
std::vector<Change> decomposed(std::string_view text, bool compatible) {
  constexpr Code kLongest = 18;  // characters that one decomposes to (U+FDFA)
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE |
                                                      (compatible ? UTF8PROC_COMPAT : 0));
  std::vector<Change> out;
  out.reserve(text.size());
  size_t marks = 0;  // how many of the last characters wait for their order
  const auto in_order = [&] {
    if (marks > 1)
      std::stable_sort(out.end() - static_cast<ptrdiff_t>(marks), out.end(),
                       [](const Change& a, const Change& b) {
                         return combining_class(a.character) < combining_class(b.character);
                       });
    marks = 0;
  };
  for (size_t at = 0; at < text.size();) {
    std::array<Code, kLongest> parts{static_cast<Code>(next(text, at))};
    utf8proc_ssize_t n = 1;
    if (parts[0] >= 0xA0) {
      int last_class = 0;
      n = utf8proc_decompose_char(parts[0], parts.data(), kLongest, options, &last_class);
    }
    for (utf8proc_ssize_t i = 0; i < n; ++i) {
      const auto c = static_cast<char32_t>(parts[static_cast<size_t>(i)]);
      if (combining_class(c) == 0) in_order();
      out.push_back({c, i > 0});
      if (combining_class(c) != 0) ++marks;
    }
  }
  in_order();
  return out;
}

/// Composes what composes, in place: a starter with marks behind it that nothing of their class stands
/// before.
void compose(std::vector<Change>& text) {
  size_t out = 0, starter = 0;
  bool has_starter = false;
  int last = -1;  // class of the character behind the starter that was kept last; -1: none
  for (const Change& c : text) {
    const int own = combining_class(c.character);
    if (has_starter && last < own) {
      if (const char32_t both = composed(text[starter].character, c.character)) {
        text[starter] = {both, text[starter].change + c.change - 1};
        continue;
      }
    }
    if (own == 0) {
      starter = out;
      has_starter = true;
      last = -1;
    } else {
      last = own;
    }
    text[out++] = c;
  }
  text.resize(out);
}

}  // namespace

bool is_surely_normal(NormalForm form, std::string_view text) {
  // The first bytes of UTF-8 of U+0300 (for NFC), and of U+0080.
  const unsigned char first = form == NormalForm::nfc ? 0xCC : 0x80;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return continues(c) ? first == 0xCC : static_cast<unsigned char>(c) < first;
  });
}

std::vector<Change> normal_form(NormalForm form, std::string_view text) {
  auto out = decomposed(text, form == NormalForm::nfkc || form == NormalForm::nfkd);
  if (form == NormalForm::nfc || form == NormalForm::nfkc) compose(out);
  return out;
}

}  // namespace lazy::text::unicode
