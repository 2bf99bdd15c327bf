// Compiles a captured graph to a program: trace -> simplify -> fuse -> lower -> backend.
#pragma once
#include <memory>

#include "jit/passes/passes.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Says what a program may rely on.
enum class Variant : uint8_t {
  generic,  // any extents and scalars; the layouts seen, under guards
  strict,   // any layouts as well: no guards at all
  fixed,    // only the extents, scalars and slice positions seen (LAZY_DYNAMIC=never)
};
const char* name_of(Variant);

/// Describes what a program does, before its kernels are compiled.
struct Plan {
  explicit Plan(const CapturedGraph& f) : trace(f) {}
  std::shared_ptr<Program> program = std::make_shared<Program>();
  std::vector<loop::LoopKernel> loops;  // indexed by step
  Trace trace;
  Fusion fusion;
};
/// Makes the plan. Throws CompileError.
/// Invariant: it follows from the captured graph, the variant and the backend's kind alone.
Plan plan(const CapturedGraph&, Variant, Backend&);

/// Says whether a program is kept for later processes.
enum class Keep : uint8_t { no, on_disk };
/// Compiles the program. Shares kernels that were built for other programs. Throws CompileError.
std::shared_ptr<const Program> compile(const CapturedGraph&, Variant, Backend&, Keep keep = Keep::on_disk);

}  // namespace lazy::jit
