// Defines models that join neighbours pair by pair: byte pair encoding.
#pragma once
#include <array>
#include <string>

#include "lazy/text/model/model.hpp"

namespace lazy::text::model {

/// Says which pairs of tokens are joined, and in which order.
class Merges {
 public:
  struct Merge {
    uint32_t rank;  // lower ones first
    Id id;          // of what the pair becomes
  };
  void add(Id left, Id right, Merge merge);
  /// Returns how a pair is joined; null: it isn't.
  const Merge* find(Id left, Id right) const {
    if (slots_.empty()) return nullptr;
    const uint64_t key = uint64_t{left} << 32 | right;
    for (size_t at = place(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key == key) return &slots_[at].merge;
      if (slots_[at].key == kEmpty) return nullptr;
    }
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge{};
  };
  size_t place(uint64_t key) const { return (key * 0x9e3779b97f4a7c15u >> 20) & (slots_.size() - 1); }
  void put(const Slot&);
  std::vector<Slot> slots_;
  size_t count_ = 0;
};

/// Joins neighbours by a list of pairs, the first of the list first.
class Bpe : public Model {
 public:
  std::string unknown, prefix, suffix;  // prefix: of what does not begin a word; suffix: of what ends one
  bool has_unknown = false, fuses_unknown = false, byte_fallback = false, ignores_merges = false;
  Merges merges;
  /// Builds what cut() needs.
  void prepare();
  /// Returns whether what a character becomes depends on nothing but its neighbours.
  bool can_go_by_words() const { return prefix.empty() && suffix.empty() && !ignores_merges; }
  void cut(std::string_view word, std::vector<Token>& out, const Site&) const override;

 private:
  struct Symbol;
  Id of_character(std::string_view character, bool first, bool last) const;
  void begin(std::string_view word, std::vector<Symbol>& symbols, const Site&) const;
  void join_few(std::vector<Symbol>& symbols) const;
  void join_many(std::vector<Symbol>& symbols) const;
  std::vector<Id> bytes_;
  std::array<Id, 128> ascii_{};
};

}  // namespace lazy::text::model
