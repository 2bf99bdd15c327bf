// Runs tasks one after the other, in the order in which they came: on a thread of its own, or, where nothing
// is under way and the caller waits anyway, on the caller's. Internal to lazy/distributed.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace lazy::distributed::detail {

class InOrder {
 public:
  InOrder() = default;
  InOrder(const InOrder&) = delete;
  /// Waits for what is under way; tasks that have not begun are dropped.
  ~InOrder();
  /// Runs a task after all before, and returns when it is done. Throws what it throws.
  void run(const std::function<void()>& task);
  /// Has a task run after all before, and returns its number.
  uint64_t start(std::function<void()> task);
  /// Waits for a task that has been started, once. Throws what it threw.
  void wait(uint64_t number);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<uint64_t, std::function<void()>>> waiting_;
  std::map<uint64_t, std::exception_ptr> ended_;  // started, done, and not waited for
  uint64_t started_ = 0;
  bool busy_ = false, closing_ = false;
  std::thread thread_;  // begins with the first task that is started
};

}  // namespace lazy::distributed::detail
