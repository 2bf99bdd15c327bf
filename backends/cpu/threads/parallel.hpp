// Runs launches on several threads: cuts a box along a parallel axis into a few large boxes.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "jit/ir/ir.hpp"

namespace tbb::detail::d1 {
class task_arena;
}

namespace lazy::cpu_backend {

/// Says from which end a launch goes through memory. A large launch begins where the last one of its thread
/// ended, whose last data the caches still hold: loops over data a few times as large as a cache read a part
/// of it from there each time, where in one direction all would have been replaced.
enum class Direction : uint8_t { up, down };
/// Says in which direction this thread's next large launch goes, if it can choose.
void set_next_direction(Direction);

class Partition {
 public:
  using Entry = void (*)(uint64_t* args);
  explicit Partition(const jit::loop::LoopKernel&);
  /// Sets the cost of an index of the box: vector instructions over lanes. A reduction's epilogue counts once
  /// for each of its results.
  void set_cost(int instructions, int epilogue, int lanes);
  double nanoseconds() const { return nanoseconds_; }

  /// True if there is too little work for a second thread.
  bool runs_inline(const uint64_t* args) const {
    const int64_t n = work(args);
    return n < surely_inline_ || !worth_threads_at(n);
  }
  /// True if the stores may bypass the caches: they write more than the last of them holds, contiguously,
  /// complete cache lines, and nothing that the launch reads.
  bool streams(const uint64_t* args) const;
  void run(Entry, uint64_t* args) const;
  /// Runs all of a launch on this thread.
  void run_here(Entry entry, uint64_t* args) const {
    if (!turns(args)) return entry(args);
    run_piece(entry, args, next_direction(args));
  }
  std::string describe() const;

  int64_t length(const uint64_t* args, int axis) const {
    return static_cast<int64_t>(args[layout_.extent(axis)]);
  }
  /// Returns the bytes from one index of an axis to the next.
  int64_t step(const uint64_t* args, int operand, int axis) const {
    const auto o = static_cast<size_t>(operand);
    const auto known = static_cast<jit::loop::Stride>(
        step_class_[o * static_cast<size_t>(layout_.rank) + static_cast<size_t>(axis)]);
    return layout_.stride_bytes(args, operand, axis, known, bytes_[o]);
  }
  /// Moves args, a copy, to [first, last) of an axis.
  void restrict(uint64_t* args, int axis, int64_t first, int64_t last) const;
  /// Calls f(copy of args, piece) for each piece, on `threads` threads.
  template <class F>
  void each_piece(const uint64_t* args, int64_t pieces, int threads, const F& f) const {
    each_piece_of(args, pieces, threads, std::cref(f));  // which needs no memory
  }
  const jit::loop::ArgLayout& layout() const { return layout_; }
  bool writes(int operand) const { return output_[static_cast<size_t>(operand)] != 0; }

 private:
  int64_t indices(const uint64_t* args) const {
    int64_t n = 1;
    for (int a = 0; a < layout_.rank; ++a) n *= length(args, a);
    return n;
  }
  /// Returns the work of a launch, in indices that pass every rolled loop of the body once.
  int64_t work(const uint64_t* args) const {
    int64_t n = indices(args);
    if (epilogue_ > 0)
      n += static_cast<int64_t>(epilogue_ * static_cast<double>(n) /
                                static_cast<double>(std::max<int64_t>(length(args, sequential_), 1)));
    if (rolled_loops_.empty()) return n;
    double passes = 1;
    for (const RepeatCost& r : rolled_loops_) passes += (static_cast<double>(args[r.trips]) - 1) * r.share;
    return static_cast<int64_t>(static_cast<double>(n) * passes);
  }
  bool worth_threads_at(int64_t work) const;
  int64_t pieces_a_thread(const uint64_t* args, int threads) const;
  /// Returns the outermost axis of more than one index if it is parallel; -1 if it is not.
  int outermost(const uint64_t* args) const;
  /// True if a launch is so large that its direction matters, but not so large that hardly any of it is still
  /// in the second-level cache when the next one turns back.
  bool turns(const uint64_t* args) const {
    const int64_t n = indices(args);
    return n >= large_ && n <= kLargestToTurn * large_;
  }
  /// Says in which direction a large launch goes.
  Direction next_direction(const uint64_t* args) const;
  void run_piece(Entry, uint64_t* args, Direction) const;
  void each_piece_of(const uint64_t* args, int64_t pieces, int threads,
                     const std::function<void(uint64_t*, int64_t)>& f) const;
  /// Returns from how many indices on threads are worth it: those that take so many nanoseconds at the
  /// machine's speed.
  int64_t limit(double worth_ns) const;
  /// Runs a reduction's blocks on several threads when that is worth it: see split.hpp.
  bool run_split(Entry, uint64_t* args, int threads, int64_t parallel_pieces) const;

  jit::loop::ArgLayout layout_;
  int vector_axis_, sequential_;
  int accumulators_ = 0;  // number of a block-wise reduction's accumulators; 0: there is nothing to split
  std::vector<int8_t> step_class_;  // a jit::loop::Stride, at operand * rank + axis
  std::vector<uint8_t> bytes_;      // bytes of an element, by operand
  struct RepeatCost {
    int trips;     // index of the word that has the number of iterations
    double share;  // 0 to 1: one iteration's part of the kernel's instructions
  };
  std::vector<RepeatCost> rolled_loops_;
  std::vector<uint8_t> output_;  // by operand: 1 if it is written
  double epilogue_ = 0;          // work of a reduction's epilogue, in indices
  double nanoseconds_ = 1;       // time of an index, for arithmetic alone
  double bytes_moved_ = 0;       // bytes that an index loads and stores
  int64_t surely_inline_ = 1 << 13;
  static constexpr int64_t kLargestToTurn = 8;
  int64_t large_;  // indices that touch more than the second-level cache holds
  mutable std::atomic<int64_t> awake_limit_{-1},
      asleep_limit_{-1};  // indices; -1 until the first launch that needs them
};

/// True if a launch that takes one thread so long is worth several. Depends on the measured cost of a
/// dispatch, and on whether the threads are awake.
bool worth_threads(double nanoseconds);

/// Holds words of a launch; few of them need no memory.
class LaunchWords {
 public:
  explicit LaunchWords(int words) : size_(static_cast<size_t>(words)) {
    if (size_ > few_.size()) many_.resize(size_);
  }
  LaunchWords(const LaunchWords&) = delete;
  uint64_t* data() { return size_ > few_.size() ? many_.data() : few_.data(); }
  size_t size() const { return size_; }

 private:
  size_t size_;
  std::array<uint64_t, 128> few_;
  std::vector<uint64_t> many_;
};

/// Holds memory until the end of a scope: the allocator's, or where that has none, spare memory
/// (memory/spare.hpp).
class Scratch {
 public:
  /// Throws DeviceError where there is none either.
  explicit Scratch(int64_t bytes);
  /// Leaves spare memory to those that cannot do with less: data() is null where the allocator has none.
  Scratch(int64_t bytes, std::nothrow_t) noexcept;
  Scratch(const Scratch&) = delete;
  ~Scratch();
  char* data() const { return data_; }

 private:
  size_t bytes_;
  char* data_;
};

/// Calls task(0) ... task(pieces - 1) on several threads; returns when all are done.
void for_each(int64_t pieces, const std::function<void(int64_t)>& task);

/// Makes launches use the threads of a host's arena from now on; null: the library's team. The host's must
/// outlive the launches.
void set_arena(tbb::detail::d1::task_arena*);

/// Returns how many threads launches use: LAZY_NUM_THREADS, or all that the process may keep busy; no more
/// than a host's arena has, nor than the calling thread's share (support/thread_share.hpp).
int thread_count();

}  // namespace lazy::cpu_backend
