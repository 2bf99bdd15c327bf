#include "lazy/text/unicode/properties.hpp"

#include <utf8proc.h>

#include <array>

namespace lazy::text::unicode {
namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

bool is_between(utf8proc_category_t c, utf8proc_category_t low, utf8proc_category_t high) {
  return c >= low && c <= high;
}

/// Returns whether a symbol has the property Other_Alphabetic: circled and squared letters.
bool is_alphabetic_symbol(char32_t c) {
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
         (c >= 0x1F170 && c <= 0x1F189);
}

}  // namespace

bool is_whitespace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_word(char32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  if (c == 0x200C || c == 0x200D) return true;  // they join letters
  const utf8proc_category_t kind = category(c);
  return is_between(kind, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_ND) || kind == UTF8PROC_CATEGORY_NL ||
         kind == UTF8PROC_CATEGORY_PC || is_alphabetic_symbol(c);
}

bool is_numeric(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return is_between(category(c), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}

bool is_letter(char32_t c) { return is_between(category(c), UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO); }

bool is_punctuation(char32_t c) {
  if (c < 0x80)
    return (c >= 0x21 && c <= 0x2F) || (c >= 0x3A && c <= 0x40) || (c >= 0x5B && c <= 0x60) ||
           (c >= 0x7B && c <= 0x7E);
  return is_between(category(c), UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool is_other(char32_t c) {
  if (c < 0x80) return c < 0x20 || c == 0x7F;
  const utf8proc_category_t kind = category(c);
  return is_between(kind, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO);
}

bool is_mark(char32_t c) {
  return c >= 0x300 && is_between(category(c), UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME);
}

bool is_nonspacing_mark(char32_t c) { return c >= 0x300 && category(c) == UTF8PROC_CATEGORY_MN; }

bool is_ideograph(char32_t c) {
  constexpr std::array<std::array<char32_t, 2>, 8> kBlocks{{{0x3400, 0x4DBF},
                                                            {0x4E00, 0x9FFF},
                                                            {0xF900, 0xFAFF},
                                                            {0x20000, 0x2A6DF},
                                                            {0x2A700, 0x2B73F},
                                                            {0x2B740, 0x2B81F},
                                                            {0x2B920, 0x2CEAF},
                                                            {0x2F800, 0x2FA1F}}};
  if (c < kBlocks[0][0]) return false;
  for (const auto& block : kBlocks)
    if (c >= block[0] && c <= block[1]) return true;
  return false;
}

Lower lower(char32_t c) {
  if (c < 0x80) return {c >= 'A' && c <= 'Z' ? c + 32 : c, 0};
  if (c == 0x130) return {'i', 0x307};
  return {static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), 0};
}

char32_t upper(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z' ? c - 32 : c;
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)));
}

bool ClusterBreaks::between(char32_t before, char32_t next) {
  return utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before),
                                          static_cast<utf8proc_int32_t>(next), &state_);
}

}  // namespace lazy::text::unicode
