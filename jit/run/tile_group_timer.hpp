#pragma once
#include <atomic>
#include <utility>
#include <vector>

#include "jit/observe/profile.hpp"
#include "support/profile.hpp"

namespace lazy::jit {

/// Measures the time that the steps of a tile group take, block by block, on all threads, for LAZY_PROFILE.
class TileGroupTimer {
 public:
  explicit TileGroupTimer(size_t steps)
      : start_(profile::start_time()), spent_(start_ ? steps : 0), outer_(profile::activity) {
    if (start_) profile::activity = {"tile_group", 0, false};  // its kernels replace this thread's parts
  }
  TileGroupTimer(const TileGroupTimer&) = delete;
  ~TileGroupTimer() {
    if (start_) profile::activity = outer_;
  }
  void finish(const Program& p, const TileGroup& b, int64_t blocks, const uint64_t* words) const {
    if (start_)
      event::tile_group(start_, profile::now(), p, b, blocks, {spent_.begin(), spent_.end()}, words);
  }

  /// Measures one thread's share.
  class Piece {
   public:
    explicit Piece(TileGroupTimer& all) : all_(all), spent_(all.spent_.size()) {}
    Piece(const Piece&) = delete;
    ~Piece() {
      for (size_t i = 0; i < spent_.size(); ++i)
        all_.spent_[i].fetch_add(spent_[i], std::memory_order_relaxed);
    }
    void begin() {
      if (!spent_.empty()) last_ = profile::now();
    }
    void end_of(size_t step) {
      if (spent_.empty()) return;
      const profile::Ticks now = profile::now();
      spent_[step] += now - std::exchange(last_, now);
    }

   private:
    TileGroupTimer& all_;
    std::vector<uint64_t> spent_;
    profile::Ticks last_ = 0;
  };

 private:
  const profile::Ticks start_;
  std::vector<std::atomic<uint64_t>> spent_;
  const profile::Activity outer_;
};

}  // namespace lazy::jit
