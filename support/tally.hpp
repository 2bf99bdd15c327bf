// Provides a counter for objects that are otherwise immutable.
#pragma once
#include <atomic>
#include <cstdint>

#include "support/alone.hpp"

namespace lazy {

/// Counts from any thread, also through a const reference. Copies take the count along.
class Tally {
 public:
  Tally() = default;
  Tally(const Tally& o) : n_(o.get()) {}
  Tally& operator=(const Tally& o) {
    n_.store(o.get(), std::memory_order_relaxed);
    return *this;
  }
  void add() const { fetch_add(n_, 1, std::memory_order_relaxed); }
  uint64_t get() const { return n_.load(std::memory_order_relaxed); }

 private:
  mutable std::atomic<uint64_t> n_{0};
};

}  // namespace lazy
