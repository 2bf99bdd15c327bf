// From a frame to a program: trace -> simplify -> fuse -> lower -> backend.
#pragma once
#include <memory>

#include "jit/plan/program.hpp"

namespace lazy::jit {

/// What a variant of a program may rely on.
enum class Variant : uint8_t {
  generic,  // any extents and scalars; the layouts seen, under guards
  strict,   // any layouts either: no guards at all
  fixed,    // the extents, scalars and slice positions seen (LAZY_DYNAMIC=never)
};
const char* name_of(Variant);

/// Throws CompileError. Kernels already built for another program are shared. The program is kept on disk
/// too.
std::shared_ptr<const Program> compile(const Frame&, Variant, Backend&);

}  // namespace lazy::jit
