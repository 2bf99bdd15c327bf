// Writes kernels along the same rows (jit/ir/rows.hpp) as one CUDA kernel: a warp does all of them for its
// row, with the values of the row in shared memory. So a softmax reads its input from memory once and writes
// its result, and nothing else.
#pragma once
#include "backends/cuda/emitter/module.hpp"
#include "jit/ir/rows.hpp"

namespace lazy::cuda_backend {

class RowsSchedule {
 public:
  static RowsSchedule of(const jit::loop::FusedRows&);

  std::vector<std::string> functions;  // one
  bool args_in_memory = false;
  std::string text;

  /// True if it can, and should, run rows as long as these arguments say: values of a row fit shared memory
  /// with enough rows beside each other, and rows fill a warp and are one block of a reduction.
  bool takes(const uint64_t* args) const;
  /// Returns the one launch, for arguments that it takes. Sets word kPlanned of the first member.
  Launch plan(uint64_t* args) const;

  // These fields are what emit() reads.
  std::vector<ScheduledMember> members;  // of maps too the last axis is the sequential one
  struct Own {
    DType dtype{};
    bool whole = false;
    int writer = 0;  // index of the member that writes it
  };
  std::vector<Own> own;

 private:
  int64_t length(const uint64_t* args, size_t member) const;
  /// Returns the bytes of the values of one row that are in shared memory.
  int64_t row_bytes(const uint64_t* args) const;
  int64_t rows(const uint64_t* args) const;
};

/// Returns the text of the module of the one function.
std::string emit(const jit::loop::FusedRows&, const RowsSchedule&, size_t function = 0);

}  // namespace lazy::cuda_backend
