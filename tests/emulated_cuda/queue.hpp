// Does the work of a stream in order: at once, in the calling thread, or later, on a thread of the stream
// (EMULATED_CUDA_ASYNC).
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace emulated {

class Queue : public std::enable_shared_from_this<Queue> {
 public:
  static std::shared_ptr<Queue> start();

  /// Adds work and returns its number: 1, 2, 3, ... Events are copies of a queue's numbers.
  uint64_t submit(std::function<void()> work);
  /// Waits until the work of this number, and all before, is done; until then none of it is postponed.
  void wait_for(uint64_t number);
  bool is_done(uint64_t number);
  uint64_t last();
  /// Ends the queue: no work comes after this. Work that is already there will still be done.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  struct Work {
    Clock::time_point due;
    std::function<void()> run;
  };
  void serve();

  std::mutex running_;  // locked by the thread that does work, when that is the caller's
  std::mutex mutex_;    // guards everything below
  std::condition_variable changed_;
  std::deque<Work> work_;
  uint64_t submitted_ = 0, done_ = 0;
  int waiting_ = 0;
  bool finished_ = false;
};

}  // namespace emulated
