// From a captured graph to a program: trace -> simplify -> fuse -> lower -> backend.
#pragma once
#include <memory>

#include "jit/passes/passes.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// What a variant of a program may rely on.
enum class Variant : uint8_t {
  generic,  // any extents and scalars; the layouts seen, under guards
  strict,   // any layouts either: no guards at all
  fixed,    // the extents, scalars and slice positions seen (LAZY_DYNAMIC=never)
};
const char* name_of(Variant);

/// A plan is what a program does, before its kernels are compiled.
struct Plan {
  explicit Plan(const CapturedGraph& f) : trace(f) {}
  std::shared_ptr<Program> program = std::make_shared<Program>();
  std::vector<loop::LoopKernel> loops;  // of each step
  Trace trace;
  Fusion fusion;
};
/// Follows from the captured graph, the variant and the backend's kind alone. Throws CompileError.
Plan plan(const CapturedGraph&, Variant, Backend&);

/// Throws CompileError. Kernels already built for another program are shared. The program is kept on disk
/// too.
std::shared_ptr<const Program> compile(const CapturedGraph&, Variant, Backend&);

}  // namespace lazy::jit
