#include "backends/cpu/threads/parallel.hpp"

#include <immintrin.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "backends/cpu/emitter/split.hpp"
#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/memory/allocator.hpp"
#include "backends/cpu/memory/spare.hpp"
#include "backends/cpu/threads/machine.hpp"
#include "backends/cpu/threads/team.hpp"
#include "support/arithmetic.hpp"
#include "support/config.hpp"
#include "support/float_mode.hpp"
#include "support/lock.hpp"
#include "support/profile.hpp"
#include "support/shares.hpp"
#include "support/thread_share.hpp"

namespace lazy::cpu_backend {
using jit::loop::Stride;
namespace {

// Nanoseconds from which a launch gains from threads that are awake: half of it and a dispatch take much less
// than all of it.
constexpr double kWorthAThread = 8000, kDispatchesWorthAThread = 5;
constexpr double kSurelyWorthAThread = 25000;  // nanoseconds, even if a dispatch seemed to cost more
// Nanoseconds from which waking a thread, which costs the caller a few microseconds, is less than a
// twentieth.
constexpr double kWorthWaking = 60000;
constexpr int64_t kClosely = 60000;  // nanoseconds between launches that follow each other closely
// A thread's part is several pieces if each takes so many nanoseconds: others do what is left of it if the
// thread is late or has to let others run.
constexpr double kNanosecondsOfAPiece = 20000;
constexpr int64_t kMostPieces = 8;
constexpr int64_t kBytesDownwards = 256 << 10;  // of a large launch that goes down, in each call of its code
constexpr int64_t kRowsDownwards = 4;           // of each call are a multiple of this, for short rows
constexpr int64_t kVectorGrain =
    64;  // chunks of the vector axis start at multiples: complete vectors and cache lines
constexpr int kScratch = jit::loop::ArgLayout::kScratch;

std::atomic<tbb::task_arena*> host_arena{nullptr};

/// Returns the arena of a host in this process; null if launches use the library's team.
tbb::task_arena* arena() {
  tbb::task_arena* const host = host_arena.load(std::memory_order_acquire);
  return host && tbb_lives() ? host : nullptr;
}

/// Calls some(first, last) for parts of 0 ... pieces, on several threads; returns when all are done.
template <class Some>
void spread(int64_t pieces, int threads, const Some& some) {
  tbb::task_arena* const host = arena();
  if (!host) return run_in_team(pieces, threads, std::cref(some));
  const auto all = [&] {
    tbb::parallel_for(
        tbb::blocked_range<int64_t>(0, pieces, 1),
        [&](const tbb::blocked_range<int64_t>& r) { some(r.begin(), r.end()); }, tbb::simple_partitioner());
  };
  // Isolated, this thread does not run a task of the host's while it waits, which might record or flush on
  // this thread.
  host->execute([&] { tbb::this_task_arena::isolate(all); });
}

/// Does that; where the calling thread has a share of the threads, pieces have what it leaves them.
template <class Some>
void in_parallel(int64_t pieces, int threads, const Some& some) {
  if (!ThreadShare::any()) [[likely]]
    return spread(pieces, threads, some);
  const int each = std::max(1, threads / static_cast<int>(std::clamp<int64_t>(pieces, 1, threads)));
  spread(pieces, threads, [&](int64_t first, int64_t last) {
    const ThreadShare share(each);
    some(first, last);
  });
}

/// Records each part of what the calling thread runs on the thread that does it.
class Parts {
 public:
  explicit Parts(int64_t pieces)
      : name_(profile::on() ? profile::activity.name : nullptr),
        silent_(profile::activity.own_parts ? nullptr : &profile::activity) {
    if (name_) profile::activity.parts += static_cast<uint32_t>(pieces);
  }
  template <class F>
  void run(int64_t first, int64_t last, F&& some) const {
    const FloatMode mode;  // for whichever thread runs this
    static constexpr profile::Kind kind{
        nullptr, profile::kPart, {{{"name", profile::Type::text}, {"piece", profile::Type::integer}}}};
    if (!name_ || &profile::activity == silent_) return some(first, last);
    const profile::Span span(kind, name_, first);
    some(first, last);
  }

 private:
  const char* name_;
  const profile::Activity* silent_;  // activity of the thread whose parts are not recorded
};

/// The time of the latest launch that threads could have helped with. Launches that follow each other closely
/// find the threads awake: the first of them, at the latest the second, wakes them.
std::atomic<int64_t> last_sizeable{0};
int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
bool closely_followed() {
  const int64_t now = now_ns();
  return now - last_sizeable.exchange(now, std::memory_order_relaxed) < kClosely;
}

/// The direction of this thread's next large launch, if it can choose.
thread_local Direction next = Direction::up;

double worth_awake_threads() {
  return std::clamp(kDispatchesWorthAThread * machine().dispatch_ns, kWorthAThread, kSurelyWorthAThread);
}

}  // namespace

void set_next_direction(Direction d) { next = d; }

int thread_count() {
  const int asked = config::get().num_threads;
  if (tbb::task_arena* host = host_arena.load(std::memory_order_acquire)) {
    const int has = host->max_concurrency();
    return ThreadShare::of(asked > 0 ? std::min(asked, has) : has);
  }
  return ThreadShare::of(asked > 0 ? asked : usable_processors());
}

void set_arena(tbb::task_arena* arena) {
  (void)tbb_lives();  // notes that this process has its threads
  host_arena.store(arena, std::memory_order_release);
}

void for_each(int64_t pieces, const std::function<void(int64_t)>& task) {
  const auto some = [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) task(p);
    _mm_sfence();  // streaming stores must be visible to the waiting thread
  };
  if (pieces == 1) return some(0, 1);
  const Parts parts(pieces);
  in_parallel(pieces, thread_count(), [&](int64_t first, int64_t last) { parts.run(first, last, some); });
}

Partition::Partition(const jit::loop::LoopKernel& k)
    : layout_(jit::loop::layout_of(k)), vector_axis_(k.rank - 1), sequential_(k.sequential) {
  if (k.form == jit::loop::Form::reduce)
    for (const auto& r : k.reductions)
      accumulators_ += r.op == jit::Op::argmax || r.op == jit::Op::argmin ? 2 : 1;
  for (const auto& o : k.operands) {
    bytes_.push_back(static_cast<uint8_t>(size_of(o.dtype)));
    output_.push_back(o.output);
    if (o.stride[vector_axis_] != Stride::zero) bytes_moved_ += static_cast<double>(size_of(o.dtype));
    for (int a = 0; a < k.rank; ++a) step_class_.push_back(static_cast<int8_t>(o.stride[a]));
  }
  for (const auto& in : k.body)
    if (in.code == jit::loop::Code::load_at) bytes_moved_ += static_cast<double>(size_of(in.type));
  large_ =
      bytes_moved_ > 0 ? static_cast<int64_t>(static_cast<double>(caches().l2) / bytes_moved_) : INT64_MAX;
  for (const auto& r : k.rolled_loops)
    rolled_loops_.push_back({layout_.scalar(r.trips),
                             static_cast<double>(r.last - r.first) / static_cast<double>(k.body.size())});
}

void Partition::set_cost(int instructions, int epilogue, int lanes) {
  // Assumes half a cycle an instruction, a quarter of a nanosecond a cycle; loads and stores are counted
  // separately.
  const bool once_a_result = accumulators_ > 0;
  if (!once_a_result) instructions += epilogue;
  nanoseconds_ = (instructions * 0.5 + 2) * 0.25 / lanes;
  // Along the vector axis a result has one lane.
  const int results = sequential_ == vector_axis_ ? 1 : lanes;
  epilogue_ = once_a_result ? epilogue * 0.5 * 0.25 / results / nanoseconds_ : 0;
  constexpr double kFastestMemory = 100;  // bytes a nanosecond
  surely_inline_ = std::max<int64_t>(
      1, static_cast<int64_t>(kWorthAThread / 4 / std::max(nanoseconds_, bytes_moved_ / kFastestMemory)));
}

int64_t Partition::limit(double worth_ns) const {
  const Machine& m = machine();
  const Caches& c = caches();
  // An index of the same launch takes longer where its data are further away, so the limit is that of the
  // first level at which the launch is long enough.
  for (const size_t level : {c.l1d, c.l2, c.l3, SIZE_MAX}) {
    const double ns = std::max(nanoseconds_, bytes_moved_ / bandwidth(m, static_cast<double>(level)));
    const double n = std::max(worth_ns / ns, level == c.l1d ? 0 : static_cast<double>(surely_inline_));
    if (level == SIZE_MAX || n * bytes_moved_ <= static_cast<double>(level)) return static_cast<int64_t>(n);
  }
  return surely_inline_;
}

bool worth_threads(double ns) {
  if (ns < kWorthAThread || thread_count() < 2 || ns < worth_awake_threads()) return false;
  const bool follows = closely_followed();
  return follows || team_is_awake() || ns >= kWorthWaking;
}

bool Partition::worth_threads_at(int64_t n) const {
  if (thread_count() < 2) return false;
  int64_t awake = awake_limit_.load(std::memory_order_relaxed);
  if (awake < 0) {
    awake = std::max(surely_inline_, limit(worth_awake_threads()));
    asleep_limit_.store(std::max(awake, limit(kWorthWaking)), std::memory_order_relaxed);
    awake_limit_.store(awake, std::memory_order_relaxed);
  }
  if (n < awake) return false;
  const bool follows = closely_followed();
  return follows || team_is_awake() || n >= asleep_limit_.load(std::memory_order_relaxed);
}

bool Partition::streams(const uint64_t* args) const {
  const auto n = static_cast<double>(indices(args));
  const auto cache = static_cast<double>(caches().l3);
  const double moved = n * bytes_moved_;
  if (moved < cache) return false;
  double written = 0;
  for (int o = 0; o < layout_.operands; ++o) {
    if (!output_[static_cast<size_t>(o)]) continue;
    const uint64_t to = args[layout_.pointer(o)];
    if (step(args, o, vector_axis_) != bytes_[static_cast<size_t>(o)] || bytes_[static_cast<size_t>(o)] < 4)
      return false;
    uint64_t places = to;
    for (int a = 0; a < vector_axis_; ++a)
      if (length(args, a) > 1) places |= static_cast<uint64_t>(step(args, o, a));
    if (places % 64 != 0) return false;
    for (int i = 0; i < layout_.operands; ++i)
      if (!output_[static_cast<size_t>(i)] && args[layout_.pointer(i)] == to) return false;
    written += n * bytes_[static_cast<size_t>(o)];
  }
  // Smaller results may still be in the cache when they are read, unless that much else went through it.
  return written >= cache / 2 || moved >= 2 * cache;
}

void Partition::restrict(uint64_t* args, int axis, int64_t first, int64_t last) const {
  args[layout_.extent(axis)] = static_cast<uint64_t>(last - first);
  args[layout_.origin(axis)] += static_cast<uint64_t>(first);
  for (int o = 0; o < layout_.operands; ++o) {
    args[layout_.pointer(o)] += static_cast<uint64_t>(first * step(args, o, axis));
  }
}

int64_t Partition::pieces_a_thread(const uint64_t* args, int threads) const {
  const double bytes = static_cast<double>(indices(args)) * bytes_moved_;
  const double ns =
      std::max(static_cast<double>(work(args)) * nanoseconds_, bytes / bandwidth(machine(), bytes));
  return std::clamp<int64_t>(static_cast<int64_t>(ns / kNanosecondsOfAPiece / threads), 1, kMostPieces);
}

int Partition::outermost(const uint64_t* args) const {
  int axis = 0;
  while (axis < layout_.rank && length(args, axis) < 2) ++axis;
  return axis == layout_.rank || axis == sequential_ ? -1 : axis;
}

Direction Partition::next_direction(const uint64_t* args) const {
  const Direction now = outermost(args) < 0 ? Direction::up : next;
  next = now == Direction::up ? Direction::down : Direction::up;
  return now;
}

/// Runs a box, downwards in parts of its outermost axis: within each the processor prefetches upwards.
void Partition::run_piece(Entry entry, uint64_t* args, Direction d) const {
  const int axis = d == Direction::down ? outermost(args) : -1;
  if (axis < 0) return entry(args);
  const int64_t n = length(args, axis),
                wanted =
                    static_cast<int64_t>(static_cast<double>(indices(args)) * bytes_moved_) / kBytesDownwards,
                grain = round_up(divide_up(n, std::max<int64_t>(wanted, 1)),
                                 axis == vector_axis_ ? kVectorGrain : kRowsDownwards),
                parts = divide_up(n, grain);
  if (parts < 2) return entry(args);
  each_piece(args, parts, 1, [&](uint64_t* mine, int64_t p) {
    const int64_t first = (parts - 1 - p) * grain;
    restrict(mine, axis, first, std::min(n, first + grain));
    entry(mine);
  });
}

void Partition::run(Entry entry, uint64_t* args) const {
  const int threads = thread_count();
  // Chooses the outermost axis that gives every thread something; failing that the longest one.
  int best = -1;
  int64_t most = 1;
  for (int a = 0; a < layout_.rank && threads > 1; ++a) {
    if (a == sequential_) continue;
    const int64_t pieces = a == vector_axis_ ? length(args, a) / kVectorGrain : length(args, a);
    if (pieces > most) best = a, most = pieces;
    if (pieces >= 4 * threads) break;
  }
  if (most < threads && run_split(entry, args, threads, most)) return;
  if (best < 0) return run_here(entry, args);
  const Direction direction = turns(args) ? next_direction(args) : Direction::up;
  const int64_t n = length(args, best), wanted = threads * pieces_a_thread(args, threads);
  const int64_t grain =
      best == vector_axis_ ? round_up(divide_up(n, wanted), kVectorGrain) : divide_up(n, wanted);
  const int64_t pieces = divide_up(n, grain);
  if (pieces < 2) return entry(args);
  each_piece(args, pieces, threads, [&](uint64_t* mine, int64_t p) {
    if (direction == Direction::down) p = Shares::mirrored(p, pieces, threads);
    restrict(mine, best, p * grain, std::min(n, (p + 1) * grain));
    run_piece(entry, mine, direction);
  });
}

void Partition::each_piece_of(const uint64_t* args, int64_t pieces, int threads,
                              const std::function<void(uint64_t*, int64_t)>& f) const {
  const auto words = static_cast<size_t>(layout_.words());
  const auto some = [&](int64_t first, int64_t last) {
    constexpr size_t kOnStack = 512;
    uint64_t small[kOnStack];
    std::unique_ptr<uint64_t[]> large;
    uint64_t* mine = small;
    if (words > kOnStack) {
      large = std::make_unique<uint64_t[]>(words);
      mine = large.get();
    }
    for (int64_t p = first; p < last; ++p) {
      std::copy_n(args, words, mine);
      f(mine, p);
    }
  };
  if (threads < 2 || pieces < 2) return some(0, pieces);
  const Parts parts(pieces);
  in_parallel(pieces, threads, [&](int64_t first, int64_t last) { parts.run(first, last, some); });
}

Scratch::Scratch(int64_t bytes, std::nothrow_t) noexcept
    : bytes_(static_cast<size_t>(bytes)), data_(nullptr) {
  try {
    data_ = static_cast<char*>(allocate(bytes_));
  } catch (...) {}
}
Scratch::Scratch(int64_t bytes) : Scratch(bytes, std::nothrow) {
  if (!data_) data_ = static_cast<char*>(spare::take(bytes_));
  if (!data_) data_ = static_cast<char*>(allocate(bytes_));  // throws
}
Scratch::~Scratch() {
  if (!spare::give(data_)) deallocate(data_, bytes_);
}

bool Partition::run_split(Entry entry, uint64_t* args, int threads, int64_t parallel_pieces) const {
  if (accumulators_ == 0) return false;
  const bool inner = sequential_ == vector_axis_;
  const int64_t n = length(args, sequential_), block = jit::loop::reduce_block(inner),
                blocks = (n + block - 1) / block;
  if (blocks < 2 || blocks <= parallel_pieces) return false;
  int64_t rows = 1;
  for (int a = 0; a < layout_.rank; ++a)
    if (a != sequential_ && a != vector_axis_) rows *= length(args, a);
  SplitPlan plan;
  // A vector is stored completely, so there is room for one beyond the last lane.
  plan.accumulator = inner ? 64 : (length(args, vector_axis_) + 2 * kVectorGrain) * kSplitLane;
  plan.block = plan.accumulator * accumulators_;
  plan.row = plan.block * blocks;
  const Scratch memory(plan.row * rows);
  plan.data = memory.data();
  const int64_t grain = (blocks + threads - 1) / threads, pieces = (blocks + grain - 1) / grain;
  each_piece(args, pieces, threads, [&](uint64_t* mine, int64_t p) {
    SplitPlan part = plan;
    part.data += p * grain * plan.block;
    mine[kScratch] = static_cast<uint64_t>(SplitMode::partials);
    mine[kScratch + 1] = reinterpret_cast<uint64_t>(&part);
    restrict(mine, sequential_, p * grain * block, std::min(n, (p + 1) * grain * block));
    entry(mine);
  });
  args[kScratch] = static_cast<uint64_t>(SplitMode::combine);
  args[kScratch + 1] = reinterpret_cast<uint64_t>(&plan);
  entry(args);
  return true;
}

std::string Partition::describe() const {
  return "inline below " + std::to_string(surely_inline_) + " indices";
}

}  // namespace lazy::cpu_backend
