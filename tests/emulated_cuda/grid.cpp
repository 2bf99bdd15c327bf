#include "tests/emulated_cuda/grid.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>

#include "support/per_thread.hpp"
#include "tests/emulated_cuda/fiber.hpp"
#include "tests/emulated_cuda/settings.hpp"
#include "tests/emulated_cuda/warp.hpp"

namespace emulated {
namespace {

using Clock = std::chrono::steady_clock;

enum class Where : uint8_t { runs, barrier, collective, returned };

struct Thread {
  Fiber* fiber;
  uint64_t outcome;  // result of the last collective
  int line;          // where it waits
  Where where;
  Collective kind;
  uint32_t mask;
};

/// Fills memory with garbage; AddressSanitizer ignores its red zones between variables here.
void fill_with_garbage(char* at, size_t bytes) {
  asm volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(0xa5) : "memory");
}

std::string thread_number(uint32_t i) { return "thread " + std::to_string(i); }

/// Gives indices in the order of EMULATED_CUDA_ORDER.
class Sequence {
 public:
  void start(uint32_t count) {
    count_ = count;
    if (order_ != Order::shuffled) return;
    shuffled_.resize(count);
    std::iota(shuffled_.begin(), shuffled_.end(), 0u);
  }
  void shuffle(uint64_t& random) {
    if (order_ != Order::shuffled) return;
    for (uint32_t i = count_; i > 1; --i) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;  // xorshift64
      std::swap(shuffled_[i - 1], shuffled_[random % i]);
    }
  }
  uint32_t operator[](uint32_t i) const {
    switch (order_) {
      case Order::forward: return i;
      case Order::reverse: return count_ - 1 - i;
      default: return shuffled_[i];
    }
  }

 private:
  Order order_ = settings().order;
  uint32_t count_ = 0;
  std::vector<uint32_t> shuffled_;
};

/// Holds the fibers of an OS thread and the grid that runs on them.
class Runner {
 public:
  std::string run(const Grid& grid);
  void barrier(int line);
  uint64_t collective(Collective, uint32_t mask, uint64_t value, uint32_t argument, int width, int line);

 private:
  static void enter(void* self) { static_cast<Runner*>(self)->work(); }
  void work();
  Fiber& free_fiber();
  bool start_thread();
  bool start_block();
  bool is_time_for_faster();
  void take_faster();
  void park();
  Fiber& next_fiber();
  [[noreturn]] void give_up();
  void check_lines(int line);
  void check_lane(Collective, uint32_t mask, int width, int line);
  std::string who_waits() const;
  void release(uint32_t thread) {
    threads_[thread].where = Where::runs;
    ready_.push_back(thread);
  }
  void let_run(uint32_t thread) {
    current_ = thread;
    code_.state->thread.x = thread;
  }

  Fiber main_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  Fiber* running_ = &main_;

  const Grid* grid_ = nullptr;
  Code code_;
  bool asks_ = false;  // for faster code, when it is time
  bool wants_faster_ = false;
  Fiber* waits_for_code_ = nullptr;
  uint32_t chances_ = 0;
  Clock::time_point start_;
  uint32_t blocks_started_ = 0;
  Sequence block_order_, thread_order_, lane_order_;
  uint64_t random_ = 0;
  std::string failure_;

  // State of the block that runs.
  std::vector<Thread> threads_;
  uint32_t started_ = 0, returned_ = 0, at_barrier_ = 0, current_ = 0;
  std::vector<uint32_t> ready_;  // released and not yet run, from next_ready_ on
  size_t next_ready_ = 0;
  std::vector<std::vector<Meeting>> meetings_;  // by warp
};

std::string Runner::run(const Grid& grid) {
  grid_ = &grid;
  code_ = grid.code;
  asks_ = grid.faster != nullptr;
  start_ = Clock::now();
  blocks_started_ = 0;
  random_ = settings().seed * 0x9e3779b97f4a7c15 + 1;
  block_order_ = {}, thread_order_ = {}, lane_order_ = {};
  block_order_.start(grid.blocks);
  block_order_.shuffle(random_);
  thread_order_.start(grid.threads);
  lane_order_.start(32);
  threads_.assign(grid.threads, {});
  meetings_.assign((grid.threads + 31) / 32, {});
  started_ = returned_ = grid.threads;
  failure_.clear();
  code_.state->block_dim = {grid.threads, 1, 1};
  code_.state->grid_dim = {grid.blocks, 1, 1};
  code_.state->thread = code_.state->block = {};
  code_.state->runner = this;
  code_.state->barrier = [](void* self, int line) { static_cast<Runner*>(self)->barrier(line); };
  code_.state->collective = [](void* self, Collective kind, unsigned mask, unsigned long long value,
                               unsigned argument, int width, int line) -> unsigned long long {
    return static_cast<Runner*>(self)->collective(kind, mask, value, argument, width, line);
  };
  Fiber& first = free_fiber();
  running_ = &first;
  main_.switch_to(first);
  if (wants_faster_) take_faster();
  if (failure_.empty() && returned_ < grid.threads) failure_ = "threads wait for each other: " + who_waits();
  if (!failure_.empty()) {
    failure_ = "kernel '" + std::string(code_.kernel->name) + "', block " +
               std::to_string(code_.state->block.x) + ": " + failure_;
    idle_.clear();
    for (const auto& fiber : fibers_) {
      fiber->restart();
      idle_.push_back(fiber.get());
    }
  }
  return std::move(failure_);
}

bool Runner::start_block() {
  if (blocks_started_ == grid_->blocks) return false;
  code_.state->block.x = block_order_[blocks_started_++];
  for (const auto& [at, bytes] : code_.shared) fill_with_garbage(at, bytes);
  thread_order_.shuffle(random_);
  started_ = returned_ = at_barrier_ = 0;
  ready_.clear();
  next_ready_ = 0;
  return true;
}

/// True every so many threads, once the grid has run for long, if the next thread can be of other code: none
/// is under way, and it shares no memory with those before it.
bool Runner::is_time_for_faster() {
  if (!asks_ || returned_ != started_ || (started_ != grid_->threads && !code_.shared.empty())) return false;
  return ++chances_ % 16 == 0 && Clock::now() - start_ > grid_->patience;
}

/// Gets the faster code, on the thread's own stack, which is larger than a fiber's, and goes on.
void Runner::take_faster() {
  wants_faster_ = asks_ = false;
  Code faster = grid_->faster();
  *faster.state = *code_.state;
  code_ = std::move(faster);
  running_ = waits_for_code_;
  main_.switch_to(*running_);
}

/// Starts a thread on the running fiber; false if all threads have started.
bool Runner::start_thread() {
  if (is_time_for_faster()) {
    wants_faster_ = true;
    waits_for_code_ = running_;
    running_ = &main_;
    waits_for_code_->switch_to(main_);
  }
  if (started_ == grid_->threads && (returned_ < grid_->threads || !start_block())) return false;
  const uint32_t thread = thread_order_[started_++];
  threads_[thread] = {};
  threads_[thread].fiber = running_;
  let_run(thread);
  return true;
}

void Runner::work() {
  for (;;) {
    while (start_thread()) {
      code_.kernel->thread(grid_->params);
      threads_[current_].where = Where::returned;
      ++returned_;
    }
    Fiber& self = *running_;
    idle_.push_back(&self);
    Fiber& next = next_fiber();
    running_ = &next;
    self.switch_to(next);
  }
}

Fiber& Runner::free_fiber() {
  if (idle_.empty()) idle_.push_back(fibers_.emplace_back(std::make_unique<Fiber>(enter, this)).get());
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

/// Returns the fiber that runs when the current thread cannot go on; the thread's own stack if none can.
Fiber& Runner::next_fiber() {
  if (started_ < grid_->threads) return free_fiber();
  if (next_ready_ == ready_.size()) return main_;
  const uint32_t thread = ready_[next_ready_++];
  if (next_ready_ == ready_.size()) {
    ready_.clear();
    next_ready_ = 0;
  }
  let_run(thread);
  return *threads_[thread].fiber;
}

void Runner::park() {
  Fiber& self = *running_;
  Fiber& next = next_fiber();
  if (&next == &self) return;
  running_ = &next;
  self.switch_to(next);
}

/// Ends the grid because of failure_. Objects on the stack are forgotten, not destroyed.
void Runner::give_up() {
  Fiber& self = *running_;
  running_ = &main_;
  self.switch_to(main_);
  __builtin_unreachable();  // the fiber restarts
}

void Runner::check_lines(int line) {
  for (const Thread& t : threads_) {
    if (t.line != line) {
      failure_ = "threads are at different barriers: " + who_waits();
      return;
    }
  }
}

void Runner::check_lane(Collective kind, uint32_t mask, int width, int line) {
  const int lane = static_cast<int>(current_ % 32);
  const char* why = complaint(mask, width, lane, static_cast<int>(grid_->threads - current_) + lane);
  if (why == nullptr) return;
  failure_ =
      thread_number(current_) + " " + why + ", at " + name_of(kind) + " (line " + std::to_string(line) + ")";
}

void Runner::barrier(int line) {
  Thread& me = threads_[current_];
  me.where = Where::barrier;
  me.line = line;
  if (++at_barrier_ == grid_->threads) {
    check_lines(line);
    if (!failure_.empty()) give_up();
    at_barrier_ = 0;
    thread_order_.shuffle(random_);
    for (uint32_t i = 0; i < grid_->threads; ++i) release(thread_order_[i]);
  }
  park();
}

uint64_t Runner::collective(Collective kind, uint32_t mask, uint64_t value, uint32_t argument, int width,
                            int line) {
  const uint32_t thread = current_, lane = thread % 32, first = thread - lane;
  check_lane(kind, mask, width, line);
  auto& meetings = meetings_[thread / 32];
  auto meeting =
      std::find_if(meetings.begin(), meetings.end(), [&](const Meeting& m) { return m.mask == mask; });
  if (meeting == meetings.end()) meeting = meetings.insert(meeting, Meeting{kind, mask, width, 0, {}, {}});
  threads_[thread].where = Where::collective;
  threads_[thread].line = line;
  threads_[thread].kind = kind;
  threads_[thread].mask = mask;
  if (meeting->kind != kind || meeting->width != width) failure_ = "lanes of a mask differ: " + who_waits();
  if (!failure_.empty()) give_up();
  meeting->arrived |= 1u << lane;
  meeting->value[lane] = value;
  meeting->argument[lane] = argument;
  if (meeting->arrived == mask) {
    lane_order_.shuffle(random_);
    for (uint32_t i = 0; i < 32; ++i) {
      const uint32_t l = lane_order_[i];
      if ((mask >> l & 1) == 0) continue;
      threads_[first + l].outcome = outcome(*meeting, static_cast<int>(l));
      release(first + l);
    }
    meetings.erase(meeting);
  }
  park();
  return threads_[thread].outcome;
}

/// Returns the places where threads of the block wait, each with their number and the first of them.
std::string Runner::who_waits() const {
  std::vector<std::pair<std::string, std::vector<uint32_t>>> places;
  for (uint32_t i = 0; i < grid_->threads; ++i) {
    const Thread& t = threads_[i];
    std::string place = "returned";
    char mask[16];
    std::snprintf(mask, sizeof mask, "0x%08x", t.mask);
    if (t.where == Where::barrier) place = "at __syncthreads (line " + std::to_string(t.line) + ")";
    if (t.where == Where::collective) {
      place =
          "at " + std::string(name_of(t.kind)) + " (line " + std::to_string(t.line) + ", mask " + mask + ")";
    }
    if (i == current_ && t.where == Where::runs) place = "running";
    const auto found =
        std::find_if(places.begin(), places.end(), [&](const auto& p) { return p.first == place; });
    (found == places.end() ? places.emplace_back(place, std::vector<uint32_t>()) : *found)
        .second.push_back(i);
  }
  std::string text;
  for (const auto& [place, threads] : places) {
    text += (text.empty() ? "" : "; ") + thread_number(threads.front());
    if (threads.size() > 1) text += " and " + std::to_string(threads.size() - 1) + " others";
    text += " " + place;
  }
  return text;
}

}  // namespace

std::string run(const Grid& grid) {
  Runner& mine = lazy::PerThread<Runner>::get();  // threads use the device until their very end
  return mine.run(grid);
}

}  // namespace emulated
