// Holds what a text is encoded to.
#pragma once
#include <cstdint>
#include <vector>

namespace lazy::text {

/// Holds a range of bytes: [begin, end).
struct Span {
  int64_t begin = 0, end = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

/// Holds the tokens of a text, or of two. All members have one entry a token.
struct Encoding {
  std::vector<int64_t> ids;
  std::vector<Span> offsets;      // bytes of the text that the token stands for; empty: of none
  std::vector<int64_t> type_ids;  // which part of a pair the token is of, as the model counts them
  std::vector<bool> special;      // put there by the tokenizer: it stands for no part of the text
};

}  // namespace lazy::text
