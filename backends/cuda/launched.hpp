// Lists launches, with copies of their arguments, in two blocks of memory.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

#include "backends/cuda/api/types.hpp"

namespace lazy::cuda_backend {

/// Describes one launch, with the words that its function's argument is made of. It does not own them.
struct Launched {
  api::Function function = nullptr;
  unsigned blocks = 1, threads = 1, shared_bytes = 0;  // of the grid; of a block; of a block, dynamic
  const uint64_t* words = nullptr;
  size_t count = 0;
};

/// Launches may be chosen by what an address is modulo this, not by more of it.
inline constexpr uint64_t kAddressesAlike = 256;

class LaunchList {
 public:
  void add(const Launched& l) {
    items_.push_back({l, words_.size()});
    words_.insert(words_.end(), l.words, l.words + l.count);
  }
  size_t size() const { return items_.size(); }
  Launched operator[](size_t i) const {
    Launched l = items_[i].launch;
    l.words = words_.data() + items_[i].words;
    return l;
  }
  uint64_t* words(size_t i) { return words_.data() + items_[i].words; }
  /// Drops all launches but the first n.
  void cut(size_t n) {
    if (n >= items_.size()) return;
    words_.resize(items_[n].words);
    items_.resize(n);
  }
  /// True if n launches of this list from i on, and of `o` from `at` on, are of the same functions with as
  /// many words.
  bool like(size_t i, size_t n, const LaunchList& o, size_t at) const {
    if (i + n > size() || at + n > o.size()) return false;
    for (; n > 0; --n, ++i, ++at) {
      const Launched &a = items_[i].launch, &b = o.items_[at].launch;
      if (a.function != b.function || a.count != b.count) return false;
    }
    return true;
  }
  bool like(const LaunchList& o) const { return size() == o.size() && like(0, size(), o, 0); }
  /// True if launch i and `b`, which are like each other, are the same.
  bool same(size_t i, const Launched& b) const {
    const Launched a = (*this)[i];
    return a.blocks == b.blocks && a.threads == b.threads && a.shared_bytes == b.shared_bytes &&
           std::memcmp(a.words, b.words, a.count * sizeof(uint64_t)) == 0;
  }
  /// Replaces launch i by one that is like it.
  void put(size_t i, const Launched& l) {
    items_[i].launch = l;
    std::memcpy(words(i), l.words, l.count * sizeof(uint64_t));
  }

 private:
  struct Item {
    Launched launch;  // its `words` is not used
    size_t words;     // index of its first word in words_
  };
  std::vector<Item> items_;
  std::vector<uint64_t> words_;
};

}  // namespace lazy::cuda_backend
