#include "backends/cpu/threads/team.hpp"

#include <tbb/info.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "backends/cpu/threads/helper_task.hpp"
#include "support/lock.hpp"
#include "support/shares.hpp"

namespace lazy::cpu_backend {
namespace {

using Some = std::function<void(int64_t first, int64_t last)>;
using Clock = std::chrono::steady_clock;

// A helper looks for work for about as long as waking it costs, and lets others have its processor meanwhile.
constexpr auto kStayAwake = std::chrono::microseconds(100);
constexpr int kPausesInARow = 64;

/// Waits busily until `done()`, or until `end`, which is decided here if it is zero. False if it is not done.
template <class Done>
bool busily(Done&& done, Clock::time_point& end) {
  for (;;) {
    for (int i = 0; i < kPausesInARow; ++i) {
      if (done()) return true;
      __builtin_ia32_pause();
    }
    const Clock::time_point now = Clock::now();
    if (end == Clock::time_point{}) end = now + kStayAwake;
    if (now >= end) return done();
    std::this_thread::yield();
  }
}

/// The process to which TBB's threads belong, as forks::generation() + 1; 0: there are none yet.
constinit std::atomic<uint32_t> tbb_process{0};

/// Holds one launch that helpers may take part in. Whoever asks for help holds `turn`.
struct alignas(64) Job {
  // Bits of `gate`: how many helpers may come in, the first ones; how many are inside.
  static constexpr uint32_t kInside = 0xffff, kWanted = 0x10000;

  std::atomic<uint32_t> gate{0};
  const Some* some = nullptr;
  Shares* shares = nullptr;
  SpinLock failing;
  std::exception_ptr failed;  // the first
  alignas(64) Mutex turn;

  void open(uint32_t wanted) { gate.store(wanted * kWanted, std::memory_order_release); }
  bool enter(int64_t helper) {
    uint32_t g = gate.load(std::memory_order_relaxed);
    while (helper < g / kWanted)
      if (gate.compare_exchange_weak(g, g + 1, std::memory_order_acquire)) return true;
    return false;
  }
  int64_t wanted() const { return gate.load(std::memory_order_relaxed) / kWanted; }
  void leave() {
    // The gate is the team's: it is there, if for another launch, whatever the one that was helped does now.
    if (gate.fetch_sub(1, std::memory_order_release) == 1) gate.notify_all();
  }
  void close() {
    gate.fetch_and(kInside, std::memory_order_relaxed);
    const auto empty = [&] { return (gate.load(std::memory_order_acquire) & kInside) == 0; };
    if (Clock::time_point end{}; busily(empty, end)) return;
    for (uint32_t g; ((g = gate.load(std::memory_order_acquire)) & kInside) != 0;) gate.wait(g);
  }
  void work(int64_t taker) {
    for (int64_t first, last; shares->take(taker, first, last);) try {
        (*some)(first, last);
      } catch (...) {
        const std::lock_guard hold(failing);
        if (!failed) failed = std::current_exception();
      }
  }
};

class Team {
 public:
  const uint32_t generation = forks::generation();

  void run(int64_t pieces, int threads, const Some& some) {
    const int64_t wanted = std::min<int64_t>({threads, pieces, kMostHelpers + 1}) - 1;
    Job* const job = wanted > 0 ? free_job() : nullptr;
    if (!job) return some(0, pieces);
    const std::lock_guard turn(job->turn, std::adopt_lock);
    Shares shares(pieces, wanted + 1);
    job->some = &some;
    job->shares = &shares;
    job->failed = nullptr;
    job->open(static_cast<uint32_t>(wanted));
    bell_.fetch_add(1);
    wake(wanted, 1);  // who wakes wakes others
    job->work(0);
    job->close();
    if (job->failed) std::rethrow_exception(std::exchange(job->failed, nullptr));
  }
  bool is_awake() const { return helper_[0].state.load(std::memory_order_relaxed) == State::awake; }

 private:
  friend struct HelperTask<Team>;
  static constexpr int64_t kMostHelpers = 1023;
  /// A helper on a thread of TBB's goes when it has nothing to do; one on a thread of its own sleeps.
  enum class State : uint32_t { gone, asleep, awake };
  struct alignas(64) Helper {
    std::atomic<State> state{State::gone};
  };

  Job* free_job() {
    for (Job& j : jobs_)
      if (j.turn.try_lock()) return &j;
    return nullptr;
  }
  /// Wakes `most` of the first `wanted` helpers, if so many are not awake.
  void wake(int64_t wanted, int most) {
    for (int64_t h = 0; h < wanted && most > 0; ++h) {
      std::atomic<State>& state = helper_[static_cast<size_t>(h)].state;
      if (state.load() == State::awake) continue;
      const State was = state.exchange(State::awake);
      if (was == State::asleep) state.notify_one();
      else if (was == State::gone && !start(h)) state.store(State::gone);
      most -= was != State::awake;
    }
  }
  /// Has a thread become the helper: TBB's, or, where those are another process's, one of its own. False if
  /// the system has none.
  bool start(int64_t h) {
    try {
      if (tbb_) tbb_->enqueue(HelperTask<Team>{this, h});
      else std::thread([this, h] { help(h); }).detach();
      return true;
    } catch (const std::exception&) { return false; }
  }
  void help(int64_t h) {
    Clock::time_point end{};  // until when it looks for work
    bool woken = true;
    for (uint32_t seen = bell_.load() - 1;;) {
      if (!busily([&] { return bell_.load(std::memory_order_relaxed) != seen; }, end)) {
        if (!rest(h, seen)) return;
        woken = true;
        end = {};
      }
      seen = bell_.load(std::memory_order_acquire);
      for (Job& j : jobs_) {
        if (!j.enter(h)) continue;
        if (std::exchange(woken, false)) wake(j.wanted(), 2);
        j.work(h + 1);
        j.leave();
        end = {};
      }
    }
  }
  /// Lets the helper sleep until it is wanted, or says that it may go (false). Who rings after this looks
  /// sees that the helper is not awake, and wakes it if it is wanted.
  bool rest(int64_t h, uint32_t seen) {
    std::atomic<State>& state = helper_[static_cast<size_t>(h)].state;
    State now = tbb_ ? State::gone : State::asleep;
    state.store(now);
    if (bell_.load() != seen) return state.compare_exchange_strong(now, State::awake) || !tbb_;
    if (tbb_) return false;
    state.wait(State::asleep);
    return true;
  }
  /// Returns an arena of TBB's for all of its threads; null if those are another process's: they don't
  /// survive a fork, and TBB starts no others. Never destroyed: threads may be in it while the process ends.
  static tbb::task_arena* make_arena() {
    return tbb_lives() ? new tbb::task_arena(tbb::info::default_concurrency(), 1) : nullptr;
  }

  tbb::task_arena* const tbb_ = make_arena();
  std::array<Job, 8> jobs_;
  alignas(64) std::atomic<uint32_t> bell_{0};  // rung for each job
  std::array<Helper, kMostHelpers> helper_;
};

/// The current team; null before the first launch that needs one.
constinit std::atomic<Team*> current{nullptr};

/// Returns this process's team. Never destroyed: its threads end with the process.
Team& team() {
  if (Team* const t = current.load(std::memory_order_acquire); t && t->generation == forks::generation())
    return *t;
  static constinit Mutex mutex;
  const Hold hold(mutex);
  Team* t = current.load(std::memory_order_relaxed);
  if (!t || t->generation != forks::generation()) current.store(t = new Team, std::memory_order_release);
  return *t;
}

}  // namespace

bool tbb_lives() {
  const uint32_t here = forks::generation() + 1;
  uint32_t process = tbb_process.load(std::memory_order_relaxed);
  if (process == 0 && tbb_process.compare_exchange_strong(process, here)) return true;
  return process == here;
}

void run_in_team(int64_t pieces, int threads, const Some& some) { team().run(pieces, threads, some); }

bool team_is_awake() {
  const Team* const t = current.load(std::memory_order_acquire);
  return t && t->generation == forks::generation() && t->is_awake();
}

}  // namespace lazy::cpu_backend
