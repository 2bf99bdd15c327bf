// Declares scatters: generated code computes, part by part, where the updates go and what they are; what is
// there is then combined with them in order, element by element.
#pragma once
#include <cstdint>
#include <vector>

#include "backends/cpu/threads/parallel.hpp"
#include "jit/ir/ir.hpp"

namespace lazy::cpu_backend {

/// Describes `count` updates, in ascending order, that are combined with the elements that lie `at` elements
/// on from `base`. An `at` below 0 is left out.
struct ScatterRow {
  char* base = nullptr;
  const int64_t* at = nullptr;
  const char* updates = nullptr;
  int64_t at_step = 1, update_step = 1;  // 0: the same for all updates; or 1
  int64_t base_step = 0;                 // bytes that `base` moves from one update to the next
  int64_t count = 0;
};
using CombineRow = void (*)(const ScatterRow&);
/// Returns what combines elements of the dtype; throws CompileError where there is none.
CombineRow combine_row(DType, jit::Op combine);

class Scatter {
 public:
  explicit Scatter(const jit::loop::LoopKernel&);
  /// Returns the map whose code computes updates and offsets: it has the kernel's operands, of which the
  /// output is the updates, and one more for the offsets.
  const jit::loop::LoopKernel& parts() const { return parts_; }
  /// Runs a launch. `entry` is of the code of parts(), `partition` of the kernel itself.
  void run(const Partition& partition, Partition::Entry entry, const uint64_t* args, int threads) const;

 private:
  class Serial;
  int line_axis(const Partition&, const uint64_t* args, int threads) const;

  jit::loop::LoopKernel parts_;
  int rank_, scattered_, output_, offsets_;
  bool same_offset_, same_update_;  // along the last axis
  int64_t size_;                    // bytes of an element
  CombineRow combine_;
};

}  // namespace lazy::cpu_backend
