// Deals pieces of work to threads that need not be equally fast.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace lazy {

/// Gives each taker neighbouring pieces, the same ones whenever as much is dealt: what it touched is in its
/// cache. Who has no more takes from the others.
class Shares {
 public:
  /// Deals 0 ... pieces - 1, at most so many in one go.
  Shares(int64_t pieces, int64_t takers, int64_t at_once = 1)
      : shares_(std::clamp<int64_t>(std::min(pieces, takers), 1, kMost)), at_once_(at_once) {
    for (int64_t s = 0; s < shares_; ++s) {
      share_[static_cast<size_t>(s)].next.store(pieces * s / shares_, std::memory_order_relaxed);
      share_[static_cast<size_t>(s)].end = pieces * (s + 1) / shares_;
    }
  }
  /// Takes [first, last). False if nothing is left.
  bool take(int64_t taker, int64_t& first, int64_t& last) {
    for (int64_t k = 0; k < shares_; ++k) {
      Share& s = share_[static_cast<size_t>((taker + k) % shares_)];
      if (s.next.load(std::memory_order_relaxed) >= s.end) continue;
      first = s.next.fetch_add(at_once_, std::memory_order_relaxed);
      last = std::min(first + at_once_, s.end);
      if (first < last) return true;
    }
    return false;
  }

  /// Returns the piece in the place of another one if all shares are gone through from their ends.
  static int64_t mirrored(int64_t piece, int64_t pieces, int64_t takers) {
    const int64_t shares = std::clamp<int64_t>(std::min(pieces, takers), 1, kMost);
    int64_t s = piece * shares / pieces;
    while (pieces * (s + 1) / shares <= piece) ++s;
    return pieces * s / shares + pieces * (s + 1) / shares - 1 - piece;
  }

 private:
  static constexpr int64_t kMost = 16;  // more takers share these
  struct alignas(64) Share {
    std::atomic<int64_t> next;
    int64_t end;
  };
  std::array<Share, kMost> share_;
  const int64_t shares_, at_once_;
};

}  // namespace lazy
