#include "backends/cuda/side_by_side.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "support/config.hpp"

namespace lazy::cuda_backend {
namespace {

constinit std::atomic<int> helping{0};  // threads, in all calls

/// Reserves room for one more helper, until it is released.
class Place {
 public:
  Place() = default;
  Place(const Place&) = delete;
  ~Place() {
    if (taken_) helping.fetch_sub(1, std::memory_order_relaxed);
  }
  bool take() {
    const int asked = config::get().num_threads;
    const int most =
        (asked > 0 ? asked : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))) - 1;
    int now = helping.load(std::memory_order_relaxed);
    while (now < most)
      if (helping.compare_exchange_weak(now, now + 1, std::memory_order_relaxed)) return taken_ = true;
    return false;
  }

 private:
  bool taken_ = false;
};

struct Helper {
  Place place;
  std::thread thread;
  ~Helper() {
    if (thread.joinable()) thread.join();
  }
};

}  // namespace

void side_by_side(int64_t pieces, const std::function<void(int64_t)>& task) {
  std::atomic<int64_t> next{0};
  std::exception_ptr failed;
  std::mutex lock;
  const auto work = [&]() noexcept {
    for (int64_t i; (i = next.fetch_add(1)) < pieces;) try {
        task(i);
      } catch (...) {
        const std::lock_guard hold(lock);
        if (!failed) failed = std::current_exception();
      }
  };
  {
    std::vector<Helper> helpers(static_cast<size_t>(std::max<int64_t>(pieces - 1, 0)));
    for (Helper& h : helpers) try {
        if (!h.place.take()) break;
        h.thread = std::thread(work);
      } catch (...) {  // the system has no thread or no memory for one: those that there are do it
        break;
      }
    work();
  }
  if (failed) std::rethrow_exception(failed);
}

}  // namespace lazy::cuda_backend
