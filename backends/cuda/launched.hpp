// Launches one after the other, with copies of their arguments, in two blocks of memory.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

#include "backends/cuda/api/types.hpp"

namespace lazy::cuda_backend {

/// One launch; the words that its function's argument is made of.
struct Launched {
  api::Function function = nullptr;
  unsigned blocks = 1, threads = 1, shared_bytes = 0;
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
  /// Only the first n are left.
  void cut(size_t n) {
    if (n >= items_.size()) return;
    words_.resize(items_[n].words);
    items_.resize(n);
  }
  /// Of the same functions with as many words: n launches of this from i on, and as many of `o` from `at` on.
  bool like(size_t i, size_t n, const LaunchList& o, size_t at) const {
    if (i + n > size() || at + n > o.size()) return false;
    for (; n > 0; --n, ++i, ++at) {
      const Launched &a = items_[i].launch, &b = o.items_[at].launch;
      if (a.function != b.function || a.count != b.count) return false;
    }
    return true;
  }
  bool like(const LaunchList& o) const { return size() == o.size() && like(0, size(), o, 0); }
  /// Of launches that are like each other: whether they are the same.
  bool same(size_t i, const Launched& b) const {
    const Launched a = (*this)[i];
    return a.blocks == b.blocks && a.threads == b.threads && a.shared_bytes == b.shared_bytes &&
           std::memcmp(a.words, b.words, a.count * sizeof(uint64_t)) == 0;
  }
  /// In the place of one that is like it.
  void put(size_t i, const Launched& l) {
    items_[i].launch = l;
    std::memcpy(words(i), l.words, l.count * sizeof(uint64_t));
  }

 private:
  struct Item {
    Launched launch;  // but where its words are
    size_t words;
  };
  std::vector<Item> items_;
  std::vector<uint64_t> words_;
};

}  // namespace lazy::cuda_backend
