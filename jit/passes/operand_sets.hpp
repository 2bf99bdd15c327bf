// Sets of values in memory that a kernel reads, so that none reads too many. Equal sets have equal numbers.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "support/flat_map.hpp"

namespace lazy::jit {

class OperandSets {
 public:
  OperandSets() { sets_.intern({}); }
  static constexpr uint32_t kEmpty = 0;

  uint32_t only(uint32_t value) { return sets_.intern({&value, 1}).first; }
  size_t size(uint32_t set) const { return sets_.sequence(set).size(); }
  /// Takes time by the sizes of both.
  uint32_t unite(uint32_t a, uint32_t b) {
    if (a == b || b == kEmpty) return a;
    if (a == kEmpty) return b;
    const std::span<const uint32_t> x = sets_.sequence(a), y = sets_.sequence(b);
    both_.clear();
    std::set_union(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both_));
    return both_.size() == x.size() ? a : both_.size() == y.size() ? b : sets_.intern(both_).first;
  }

 private:
  Interner sets_;  // each in ascending order
  std::vector<uint32_t> both_;
};

}  // namespace lazy::jit
