// Computes the values of pending nodes; nothing else does. Takes the component, numbers it, finds or compiles
// its program, runs it and publishes the values.
#pragma once
#include "jit/compile/compile.hpp"
#include "jit/graph/record.hpp"

namespace lazy::jit {

struct FlushReport;
/// Returns a program for this captured graph: from the cache if one's guards hold, else compiled (once,
/// however many threads need it). Fills the report if it is not null (jit/key/report.hpp).
std::shared_ptr<const Program> find_program(const CapturedGraph&, Backend&, FlushReport*);

/// Counts the cache of programs, for lazy::cache and tests.
struct ProgramCacheStats {
  uint64_t entries = 0, bytes = 0, hits = 0, misses = 0, evictions = 0, collisions = 0;
};
ProgramCacheStats program_cache_stats();
/// Refers to one program in memory; held_programs() lists those used last first.
struct HeldProgram {
  std::vector<uint32_t> key;
  std::shared_ptr<const Program> program;
};
std::vector<HeldProgram> held_programs();
/// Loads all programs that are stored on disk for this machine and build. Returns their number.
size_t load_programs();
void clear_program_cache();
void set_program_cache_limits(size_t entries, size_t bytes);

}  // namespace lazy::jit
