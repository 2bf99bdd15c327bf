#include "lazy/distributed/in_order.hpp"

#include <utility>

#include "support/quiet_thread.hpp"

namespace lazy::distributed::detail {

InOrder::~InOrder() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void InOrder::run(const std::function<void()>& task) {
  {
    std::unique_lock lock(mutex_);
    if (busy_ || !waiting_.empty()) {
      lock.unlock();
      return wait(start(task));
    }
    busy_ = true;
  }
  struct Free {
    InOrder& self;
    ~Free() {
      {
        const std::lock_guard lock(self.mutex_);
        self.busy_ = false;
      }
      self.changed_.notify_all();
    }
  } free{*this};
  task();
}

uint64_t InOrder::start(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = quiet_thread([this] { work(); });
  waiting_.emplace_back(++started_, std::move(task));
  changed_.notify_all();
  return started_;
}

void InOrder::wait(uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_.contains(number); });
  const std::exception_ptr failure = ended_[number];
  ended_.erase(number);
  lock.unlock();
  if (failure) std::rethrow_exception(failure);
}

void InOrder::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || (!busy_ && !waiting_.empty()); });
    if (closing_) return;
    const auto [number, task] = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
    lock.unlock();
    std::exception_ptr failure;
    try {
      task();
    } catch (...) { failure = std::current_exception(); }
    lock.lock();
    busy_ = false;
    ended_[number] = failure;
    changed_.notify_all();
  }
}

}  // namespace lazy::distributed::detail
