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

class LaunchList {
 public:
  void add(const Launched& l) {
    items_.push_back({l.function, l.blocks, l.threads, l.shared_bytes, nullptr, l.count});
    words_.insert(words_.end(), l.words, l.words + l.count);
  }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void clear() {
    items_.clear();
    words_.clear();
  }
  /// f(i, launch) for each, in order.
  template <class F>
  void each(F&& f) const {
    const uint64_t* w = words_.data();
    for (size_t i = 0; i < items_.size(); ++i) {
      Launched l = items_[i];
      l.words = w;
      w += l.count;
      f(i, l);
    }
  }
  /// As many launches of the same functions with as many words.
  bool like(const LaunchList& o) const {
    if (items_.size() != o.items_.size()) return false;
    for (size_t i = 0; i < items_.size(); ++i)
      if (items_[i].function != o.items_[i].function || items_[i].count != o.items_[i].count) return false;
    return true;
  }
  /// Of a list that is like this one: whether launch i is the same; `at`: where its words begin in both.
  bool same(const LaunchList& o, size_t i, size_t at) const {
    const Launched &a = items_[i], &b = o.items_[i];
    return a.blocks == b.blocks && a.threads == b.threads && a.shared_bytes == b.shared_bytes &&
           std::memcmp(words_.data() + at, o.words_.data() + at, a.count * sizeof(uint64_t)) == 0;
  }

 private:
  std::vector<Launched> items_;
  std::vector<uint64_t> words_;
};

}  // namespace lazy::cuda_backend
