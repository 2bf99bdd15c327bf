// Launches over several threads: a box is cut along a parallel axis into a few large boxes.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "jit/loop/ir.hpp"

namespace lazy::cpu {

class Partition {
 public:
  using Entry = void (*)(uint64_t* args);
  explicit Partition(const jit::loop::LoopKernel&);
  /// What an index of the box costs: vector instructions over lanes.
  void set_cost(int instructions, int lanes);
  double nanoseconds() const { return nanoseconds_; }

  /// A contraction that packs panels of so many columns: `bytes` a step of the sequential axis, for tiles of
  /// rows along `row_axis`.
  void set_packing(int row_axis, int rows, int columns, int bytes) {
    row_axis_ = row_axis;
    tile_rows_ = rows;
    pack_columns_ = columns;
    pack_bytes_ = bytes;
  }

  /// Too little work for a second thread.
  bool runs_inline(const uint64_t* args) const {
    int64_t n = 1;
    for (int a = 0; a < layout_.rank; ++a) n *= static_cast<int64_t>(args[layout_.extent(a)]);
    return n < inline_limit_;
  }
  /// On this thread, with memory for a packed panel where that is worth it.
  void run_here(Entry entry, uint64_t* args) const {
    if (pack_bytes_ > 0 && length(args, row_axis_) >= 2 * tile_rows_) return run_packed(entry, args);
    entry(args);
  }
  void run(Entry, uint64_t* args) const;
  std::string describe() const;

 private:
  int64_t length(const uint64_t* args, int axis) const {
    return static_cast<int64_t>(args[layout_.extent(axis)]);
  }
  /// Moves args, a copy, to [first, last) of an axis.
  void restrict(uint64_t* args, int axis, int64_t first, int64_t last) const;
  void run_packed(Entry, uint64_t* args) const;
  /// Packs all columns, then contracts blocks of rows with them; both on several threads. False when it is
  /// not worth it.
  bool run_packed_first(Entry, uint64_t* args, int threads) const;
  /// Runs a reduction's blocks on several threads when that is worth it: see split.hpp.
  bool run_split(Entry, uint64_t* args, int threads, int64_t parallel_pieces) const;
  template <class F>
  void each_piece(const uint64_t* args, int64_t pieces, F&& f) const;

  jit::loop::ArgLayout layout_;
  int vector_axis_, sequential_;
  int accumulators_ = 0;  // of a reduction in blocks; 0: there is nothing to split
  int contractions_ = 0;
  std::vector<int8_t> step_class_;  // of each operand and axis: jit::loop::Stride
  std::vector<uint8_t> bytes_;      // of each operand's elements
  int64_t inline_limit_ = 1 << 15;
  double nanoseconds_ = 1;  // of an index
  int row_axis_ = -1, tile_rows_ = 0, pack_columns_ = 0, pack_bytes_ = 0;
};

/// task(0) ... task(pieces - 1) on several threads; returns when all are done.
void for_each(int64_t pieces, const std::function<void(int64_t)>& task);

/// Threads that launches use: LAZY_NUM_THREADS, or all that the process may keep busy.
int thread_count();

}  // namespace lazy::cpu
