// Runs collectives on host memory. Internal to lazy/distributed.
#pragma once
#include "jit/calls/call.hpp"
#include "lazy/distributed/collective_kinds.hpp"

namespace lazy::distributed::detail {

/// Holds what is in the key of a collective: no rank, so that all ranks have the same programs.
struct CollectiveAttributes {
  uint8_t kind = 0, reduction = 0;
  uint16_t reserved = 0;
  int32_t root = -1, ranks = 1;

  Kind of() const { return static_cast<Kind>(kind); }
};

/// Returns the bytes that run_collective() needs beside operands and outputs.
size_t collective_workspace(const jit::CallSpec&, std::span<const jit::Meta> operands);
/// Exchanges the operands with the other ranks, and fills the outputs.
void run_collective(const jit::CallRun&);

}  // namespace lazy::distributed::detail
