// The work of a stream, done in order: at once, in the calling thread, or later, on a thread of the stream's
// own (EMULATED_CUDA_ASYNC).
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

  /// The work's number: 1, 2, 3, ... Copies of a queue's numbers are what events are.
  uint64_t submit(std::function<void()> work);
  /// Returns when the work of this number, and all before, is done; until then nothing of it is put off.
  void wait_for(uint64_t number);
  bool is_done(uint64_t number);
  uint64_t last();
  /// No work comes after this. What is there will still be done.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  struct Work {
    Clock::time_point due;
    std::function<void()> run;
  };
  void serve();

  std::mutex running_;  // held by the thread that does work, when that is the caller's
  std::mutex mutex_;    // of all below
  std::condition_variable changed_;
  std::deque<Work> work_;
  uint64_t submitted_ = 0, done_ = 0;
  int waiting_ = 0;
  bool finished_ = false;
};

}  // namespace emulated
