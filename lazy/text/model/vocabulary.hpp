// Holds the tokens of a tokenizer: texts under numbers, and the way back.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lazy::text::model {

using Id = uint32_t;
inline constexpr Id kNone = ~Id{0};

// Bound what a file may have: above published vocabularies, and little memory for one that says more.
inline constexpr uint64_t kMostTokens = 1 << 19;
inline constexpr uint64_t kMostMerges = 1 << 20;
inline constexpr uint64_t kMostId = 1 << 20;

/// Maps texts to ids and back. Ids may have gaps; of two texts with one id the last one is its text, and of
/// two ids with one text the last.
class Vocabulary {
 public:
  /// Adds a token. Invariant: id < kMostId, and fewer than kMostTokens are there.
  void add(std::string_view token, Id id);
  /// Returns the id of a text; kNone if it is no token.
  Id find(std::string_view token) const;
  /// Returns the text of an id; none if there is no such token.
  std::optional<std::string_view> token(Id id) const;
  /// Returns how many tokens there are.
  size_t size() const { return count_; }
  /// Returns the largest id and 1.
  size_t end() const { return texts_.size(); }

 private:
  struct Text {
    uint32_t begin = 0, size = kNone;  // in bytes_; kNone: no token
  };
  struct Slot {
    Id id = kNone;
    Text text;
  };
  std::string_view view(Text t) const { return std::string_view(bytes_).substr(t.begin, t.size); }
  size_t slot_of(std::string_view token) const;
  void grow();

  std::string bytes_;
  std::vector<Text> texts_;  // by id
  std::vector<Slot> slots_;  // open addressing, a power of two
  size_t count_ = 0;         // slots in use
};

}  // namespace lazy::text::model
