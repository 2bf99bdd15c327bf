#include "backends/cpu/threads/team.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "support/lock.hpp"

namespace lazy::cpu_backend {
namespace {

using Some = std::function<void(int64_t first, int64_t last)>;

class Team {
 public:
  const uint32_t generation = forks::generation();

  void run(int64_t pieces, int threads, const Some& some) {
    if (!turn_.try_lock()) return some(0, pieces);
    const std::lock_guard turn(turn_, std::adopt_lock);
    {
      const std::lock_guard hold(mutex_);
      job_ = &some;
      pieces_ = pieces;
      next_.store(0, std::memory_order_relaxed);
      failed_ = nullptr;
      wanted_ = grow(std::min<int64_t>(threads, pieces) - 1);
    }
    wake_.notify_all();
    work();
    std::unique_lock hold(mutex_);
    wanted_ = 0;  // threads that have not begun need not
    done_.wait(hold, [&] { return at_work_ == 0; });
    if (failed_) std::rethrow_exception(failed_);
  }

 private:
  /// Starts so many helpers, or as many as the system allows.
  int64_t grow(int64_t wanted) {
    try {
      for (; helpers_ < wanted; ++helpers_) std::thread([this] { help(); }).detach();
    } catch (const std::system_error&) {}
    return std::min(wanted, helpers_);
  }
  [[noreturn]] void help() {
    std::unique_lock hold(mutex_);
    for (;;) {
      wake_.wait(hold, [&] { return wanted_ > 0; });
      --wanted_;
      ++at_work_;
      hold.unlock();
      work();
      hold.lock();
      if (--at_work_ == 0) done_.notify_all();
    }
  }
  void work() {
    for (int64_t p; (p = next_.fetch_add(1, std::memory_order_relaxed)) < pieces_;) try {
        (*job_)(p, p + 1);
      } catch (...) {
        const std::lock_guard hold(mutex_);
        if (!failed_) failed_ = std::current_exception();
      }
  }

  Mutex turn_;  // one job at a time
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const Some* job_ = nullptr;
  int64_t pieces_ = 0;
  std::atomic<int64_t> next_{0};
  std::exception_ptr failed_;
  int64_t helpers_ = 0, wanted_ = 0, at_work_ = 0;
};

/// Returns this process's team. Never destroyed: its threads end with the process.
Team& team() {
  static constinit Mutex mutex;
  static constinit Team* current = nullptr;
  const Hold hold(mutex);
  if (!current || current->generation != forks::generation()) current = new Team;
  return *current;
}

}  // namespace

void run_in_team(int64_t pieces, int threads, const Some& some) { team().run(pieces, threads, some); }

}  // namespace lazy::cpu_backend
