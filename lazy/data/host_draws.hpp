// Draws random numbers on the host, by the same rule as draws of tensors (lazy/random/generator.hpp): a pure
// function of seed and position. Internal to lazy/data.
#pragma once
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "support/philox.hpp"

namespace lazy::data::detail {

/// Gives the numbers of one draw, in order.
class HostDraws {
 public:
  HostDraws(uint64_t seed, uint64_t position) {
    const auto key = philox({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), 0, 0},
                            {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    key_ = {key[0], key[1]};
  }
  uint64_t bits() {
    const auto word =
        philox({static_cast<uint32_t>(count_), static_cast<uint32_t>(count_ >> 32), 0, 0}, key_);
    ++count_;
    return word[0] | uint64_t{word[1]} << 32;
  }
  /// Returns a number in [0, n): probabilities are off by less than n 2^-64.
  uint64_t below(uint64_t n) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(bits()) * n >> 64);
  }
  /// Returns a multiple of 2^-53 in [0, 1).
  double fraction() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// Returns 0, 1, ... n - 1 in random order (Fisher and Yates; Durstenfeld, 1964).
  std::vector<int64_t> permutation(int64_t n) {
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), int64_t{0});
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(i)]);
    return order;
  }

 private:
  std::array<uint32_t, 2> key_;
  uint64_t count_ = 0;  // numbers drawn
};

}  // namespace lazy::data::detail
