// Writes reductions, and contractions of which a thread has one result.
#pragma once
#include "backends/cuda/emitter/layouts.hpp"

namespace lazy::cuda_backend {

class ReductionWriter : public Writer {
 public:
  using Writer::Writer;
  void write_rows();
  void write_columns();
  void write_outputs();
  /// Writes the function of blocks of threads that load together, for few results.
  void write_staged();

 protected:
  // These functions are in write_rows.cpp.
  /// Writes the accumulators of a lane, and what it adds to them from `begin + lane` on to `end`, folded over
  /// the lanes.
  void write_lane_sums();
  std::string folded(size_t j) const;

 private:
  // These are in write_combine.cpp.
  void write_part_type();
  /// Writes results of one block into scratch memory.
  void write_part(const std::string& at, const std::function<std::string(size_t j)>& accumulator);
  void write_combine();
  // This one is in write_staged.cpp.
  void write_staged_fold(bool inner, const std::function<int(size_t j)>& partials);
  // This one is in write_short.cpp.
  void write_short();
};

}  // namespace lazy::cuda_backend
