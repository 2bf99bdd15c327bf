// Limits how many threads the launches of a scope use: the share of one of several users of a machine.
#pragma once
#include <algorithm>

namespace lazy {

/// Has launches of the calling thread use at most so many threads, itself among them, for a scope; 0 leaves
/// it as it is. Scopes nest: the least of them holds.
class ThreadShare {
 public:
  explicit ThreadShare(int threads) noexcept : outer_(share_) {
    if (threads > 0) share_ = outer_ > 0 ? std::min(outer_, threads) : threads;
  }
  ~ThreadShare() { share_ = outer_; }
  ThreadShare(const ThreadShare&) = delete;
  ThreadShare& operator=(const ThreadShare&) = delete;
  /// True if the calling thread has a share.
  static bool any() noexcept { return share_ > 0; }
  /// Returns how many of `threads` the calling thread may use.
  static int of(int threads) noexcept { return share_ > 0 ? std::min(share_, threads) : threads; }

 private:
  static inline constinit thread_local int share_ = 0;  // 0: all
  const int outer_;
};

}  // namespace lazy
