// Remembers how words were cut: most words of a text come again.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/text/model/model.hpp"
#include "support/hash.hpp"

namespace lazy::text::pipeline {

/// Maps words to their tokens, up to a bound of entries and bytes; when it is full it is emptied.
class WordCache {
 public:
  static constexpr size_t kLongest = 256;  // bytes of a word
  /// Returns the tokens of a word: those that are known, or what `cut` appends to a vector. Valid until the
  /// next call.
  template <class Cut>
  std::span<const model::Token> operator()(std::string_view word, Cut&& cut) {
    if (word.size() > kLongest) {
      large_.clear();
      cut(large_);
      return large_;
    }
    const uint64_t hash = checksum64(word.data(), word.size());
    if (slots_.empty()) slots_.resize(kSlots);
    size_t at = hash & (kSlots - 1);
    for (; slots_[at].used; at = (at + 1) & (kSlots - 1))
      if (slots_[at].hash == static_cast<uint32_t>(hash >> 32) &&
          std::string_view(words_).substr(slots_[at].word, slots_[at].size) == word)
        return {tokens_.data() + slots_[at].first, slots_[at].count};
    if (2 * count_ >= kSlots || words_.size() > kBytes || tokens_.size() > kTokens) {
      clear();
      at = hash & (kSlots - 1);
    }
    const size_t first = tokens_.size();
    try {
      cut(tokens_);
    } catch (...) {
      tokens_.resize(first);
      throw;
    }
    slots_[at] = {static_cast<uint32_t>(hash >> 32),  static_cast<uint32_t>(words_.size()),
                  static_cast<uint32_t>(first),       static_cast<uint32_t>(tokens_.size() - first),
                  static_cast<uint16_t>(word.size()), true};
    words_ += word;
    ++count_;
    return {tokens_.data() + first, tokens_.size() - first};
  }

 private:
  static constexpr size_t kSlots = 1 << 16, kBytes = 1 << 20, kTokens = 1 << 18;
  struct Slot {
    uint32_t hash, word, first, count;  // word: where it is in words_; first, count: in tokens_
    uint16_t size = 0;                  // of the word, in bytes
    bool used = false;
  };
  void clear() {
    slots_.assign(kSlots, {});
    words_.clear();
    tokens_.clear();
    count_ = 0;
  }
  std::vector<Slot> slots_;
  std::string words_;
  std::vector<model::Token> tokens_, large_;
  size_t count_ = 0;
};

}  // namespace lazy::text::pipeline
