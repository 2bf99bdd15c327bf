// Provides small hash tables without a node per entry, for passes that look up thousands of keys in
// microseconds.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lazy {

/// Maps 64-bit keys to small values: open addressing, one allocation. ~0 is no key. References are invalid
/// after the next insertion.
template <class V>
class FlatMap {
 public:
  V* find(uint64_t key) {
    if (slots_.empty()) return nullptr;
    for (size_t at = place(key);; at = (at + 1) & mask()) {
      if (slots_[at].key == key) return &slots_[at].value;
      if (slots_[at].key == kEmpty) return nullptr;
    }
  }
  /// Returns the key's value, which is set to `fresh` if there was none, and true if there was none.
  std::pair<V&, bool> try_emplace(uint64_t key, V fresh) {
    if (2 * (size_ + 1) > slots_.size()) grow(std::max<size_t>(16, 2 * slots_.size()));
    for (size_t at = place(key);; at = (at + 1) & mask()) {
      if (slots_[at].key == key) return {slots_[at].value, false};
      if (slots_[at].key != kEmpty) continue;
      ++size_;
      slots_[at] = {key, fresh};
      return {slots_[at].value, true};
    }
  }
  bool contains(uint64_t key) const { return const_cast<FlatMap*>(this)->find(key); }
  void reserve(size_t count) {
    if (2 * count > slots_.size()) grow(std::bit_ceil(2 * count));
  }
  void clear() {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    size_ = 0;
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  struct Slot {
    uint64_t key = kEmpty;
    V value{};
  };
  size_t mask() const { return slots_.size() - 1; }
  size_t place(uint64_t key) const { return (key * 0x9e3779b97f4a7c15u >> 32) & mask(); }
  void grow(size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(slots_);
    for (const Slot& s : old) {
      if (s.key == kEmpty) continue;
      size_t at = place(s.key);
      while (slots_[at].key != kEmpty) at = (at + 1) & mask();
      slots_[at] = s;
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

/// Numbers sequences of words in the order in which they are first seen; equal sequences get equal numbers.
class Interner {
 public:
  /// Returns the sequence's number, and true if it was new.
  std::pair<uint32_t, bool> intern(std::span<const uint32_t> words) {
    if (2 * (entries_.size() + 1) > table_.size()) grow();
    uint64_t h = words.size();
    for (uint32_t w : words) {
      h = (h ^ w) * 0x9e3779b97f4a7c15u;
      h ^= h >> 32;
    }
    for (size_t at = h & (table_.size() - 1);; at = (at + 1) & (table_.size() - 1)) {
      if (table_[at] == kNone) {
        table_[at] = static_cast<uint32_t>(entries_.size());
        entries_.push_back({h, static_cast<uint32_t>(words_.size()), static_cast<uint32_t>(words.size())});
        words_.insert(words_.end(), words.begin(), words.end());
        return {table_[at], true};
      }
      const Entry& e = entries_[table_[at]];
      if (e.hash == h && std::equal(words.begin(), words.end(), words_.begin() + e.first,
                                    words_.begin() + e.first + e.count))
        return {table_[at], false};
    }
  }
  size_t size() const { return entries_.size(); }
  /// Returns a sequence; valid until the next intern().
  std::span<const uint32_t> sequence(uint32_t number) const {
    return {words_.data() + entries_[number].first, entries_[number].count};
  }
  void reserve(size_t sequences, size_t words) {
    entries_.reserve(sequences);
    words_.reserve(words);
    while (table_.size() < 2 * sequences) grow();
  }

 private:
  static constexpr uint32_t kNone = ~0u;
  struct Entry {
    uint64_t hash;
    uint32_t first, count;
  };
  void grow() {
    table_.assign(std::max<size_t>(64, 2 * table_.size()), kNone);
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      size_t at = entries_[i].hash & (table_.size() - 1);
      while (table_[at] != kNone) at = (at + 1) & (table_.size() - 1);
      table_[at] = i;
    }
  }

  std::vector<uint32_t> table_, words_;
  std::vector<Entry> entries_;
};

}  // namespace lazy
