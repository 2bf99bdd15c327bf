// Tells what kind of character a code point is, by the tables of utf8proc. Words of the field's tokenizers
// are used: whitespace is White_Space, numeric N, punctuation P and ASCII's, other C.
#pragma once
#include <cstdint>

namespace lazy::text::unicode {

bool is_whitespace(char32_t);
/// Returns whether a character belongs to a word, as \w does: alphabetic, mark, decimal digit, connector.
bool is_word(char32_t);
bool is_numeric(char32_t);
bool is_letter(char32_t);
/// Returns whether a character is punctuation, or one of ASCII's that are neither letter nor digit.
bool is_punctuation(char32_t);
/// Returns whether a character is a control, a format character or a private one.
bool is_other(char32_t);
bool is_mark(char32_t);
bool is_nonspacing_mark(char32_t);
/// Returns whether a character stands in one of the blocks of unified ideographs.
bool is_ideograph(char32_t);

/// Holds what a character becomes in lower case; the second is 0 but for U+0130.
struct Lower {
  char32_t first, second;
};
Lower lower(char32_t);
/// Returns what a character becomes in upper case, if it is one character.
char32_t upper(char32_t);

/// Tells where clusters of characters that a reader takes as one end.
class ClusterBreaks {
 public:
  /// Returns whether a cluster begins with `next`, which follows `before`.
  bool between(char32_t before, char32_t next);

 private:
  int32_t state_ = 0;
};

}  // namespace lazy::text::unicode
