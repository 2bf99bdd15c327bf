#include "tests/emulated_cuda/queue.hpp"

#include <thread>

#include "tests/emulated_cuda/settings.hpp"

namespace emulated {

std::shared_ptr<Queue> Queue::start() {
  auto queue = std::make_shared<Queue>();
  if (settings().async) std::thread([queue] { queue->serve(); }).detach();
  return queue;
}

uint64_t Queue::submit(std::function<void()> work) {
  if (settings().async) {
    const std::lock_guard lock(mutex_);
    work_.push_back({Clock::now() + settings().delay, std::move(work)});
    changed_.notify_all();
    return ++submitted_;
  }
  const std::lock_guard running(running_);
  work();
  const std::lock_guard lock(mutex_);
  return done_ = ++submitted_;
}

void Queue::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !work_.empty() || finished_; });
    if (work_.empty()) return;
    changed_.wait_until(lock, work_.front().due, [&] { return waiting_ > 0 || finished_; });
    const std::function<void()> run = std::move(work_.front().run);
    work_.pop_front();
    lock.unlock();
    run();
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

void Queue::wait_for(uint64_t number) {
  std::unique_lock lock(mutex_);
  ++waiting_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return done_ >= number; });
  --waiting_;
}

bool Queue::is_done(uint64_t number) {
  const std::lock_guard lock(mutex_);
  return done_ >= number;
}

uint64_t Queue::last() {
  const std::lock_guard lock(mutex_);
  return submitted_;
}

void Queue::finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

}  // namespace emulated
