// Writes an attention (jit/ir/attention.hpp) as one CUDA kernel: a block of threads has some queries of one
// head and goes along the keys, some at a time, so that scores and weights are in registers and shared memory
// only. What was added up is multiplied by e^(old top - new top) whenever a row's top rises.
#pragma once
#include <optional>

#include "backends/cuda/emitter/module.hpp"
#include "jit/ir/attention.hpp"

namespace lazy::cuda_backend {

class AttentionSchedule {
 public:
  /// Returns a schedule for an architecture; nothing if the rows are no attention. Where the architecture has
  /// tensor cores for 16-bit floats, attentions of these use them.
  static std::optional<AttentionSchedule> of(const jit::loop::FusedRows&, int architecture);

  std::vector<std::string> functions;
  bool args_in_memory = false, tensor_cores = false;
  std::string text;

  /// True if it can, and should, run with extents as these arguments say: there are enough queries that share
  /// their keys, and results fit registers.
  bool takes(const uint64_t* args) const;
  /// Returns the one launch, for arguments that it takes. Sets word kPlanned of the first member: low half to
  /// how many queries in a row share their keys, high half to which of queries (1), keys (2) and values (4)
  /// lie in aligned rows.
  Launch plan(uint64_t* args) const;

  // These fields are what emit() reads.
  std::vector<ScheduledMember> members;
  jit::loop::Attention form;
  /// Return the axes along which a member's rows, and keys, follow each other.
  int row_axis(size_t member) const;
  int key_axis(size_t member) const;

 private:
  uint64_t extent(const uint64_t* args, size_t member, int axis) const {
    return args[members[member].offset + members[member].args.extent(axis)];
  }
  /// Returns how many rows one after the other have the same keys and values; 0 if members don't agree.
  uint64_t queries(const uint64_t* args) const;
  bool same_arguments(const uint64_t* args) const;
  /// Returns the number of columns that a function must have room for.
  uint64_t widest(const uint64_t* args) const;
  bool is_wide(const uint64_t* args, size_t member, int operand, int packed) const;
  uint64_t rows(const uint64_t* args) const;
};

/// Returns the text of the module of one of its functions.
std::string emit(const jit::loop::FusedRows&, const AttentionSchedule&, size_t function);

}  // namespace lazy::cuda_backend
