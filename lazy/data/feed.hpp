// Makes batches ahead of who reads them, by threads, and gives them in order. Internal to lazy/data.
#pragma once
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "support/forks.hpp"
#include "support/site.hpp"

namespace lazy::data::detail {

using Batches = std::vector<std::vector<int64_t>>;  // of each batch its examples

class Feed {
 public:
  using Make = std::function<std::shared_ptr<void>(const std::vector<int64_t>& examples)>;

  /// Begins with batch `first`; at most `ahead` batches are made before they are read. With no threads a
  /// batch is made when it is read; so it is in a child of the process that began the threads.
  Feed(Batches batches, size_t first, Make make, int threads, size_t ahead);
  Feed(const Feed&) = delete;
  /// Waits for the batches that threads are at.
  ~Feed();
  /// Returns the next batch; null at the end. Throws what making it threw, and gives nothing from then on; an
  /// Error that has no line gets this one.
  std::shared_ptr<void> next(const Site&);
  /// Returns the number of the batch that next() gives.
  size_t position() const noexcept { return read_; }
  bool at_end() const noexcept { return read_ >= batches_.size(); }

 private:
  struct Made {
    std::shared_ptr<void> batch;
    std::exception_ptr error;
    bool done = false;
  };
  /// What the reader and the threads share.
  struct Shared {
    std::mutex mutex;  // guards all below
    std::condition_variable room, made;
    size_t begun;            // batches before this one are made or in the making
    size_t read;             // as read_
    std::vector<Made> ring;  // batch b is at b % ahead_
    bool stopping = false;
    std::vector<std::thread> threads;
  };
  void work(Shared&);
  void stop() noexcept;
  void leave_parents_threads() noexcept;
  Made make_one(size_t batch) const noexcept;
  Made take_next();
  std::shared_ptr<void> taken(Made, const Site&);
  /// Tells once, after some batches, if who reads them mostly waits for them.
  void tell_of_waiting(const Site&) const;

  const Batches batches_;
  const Make make_;
  const size_t ahead_;
  size_t read_;  // the next batch
  using Clock = std::chrono::steady_clock;
  Clock::time_point began_{};  // when the first batch was given
  Clock::duration waited_{};   // the reader's time in next() since then
  size_t given_ = 0;           // batches since then
  const uint32_t generation_ = forks::generation();
  std::unique_ptr<Shared> shared_;  // null: there are no threads
};

}  // namespace lazy::data::detail
