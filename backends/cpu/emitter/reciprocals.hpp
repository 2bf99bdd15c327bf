// Rewrites divisions by what is the same along a row: a multiplication by its reciprocal, put right by what
// is left over, gives the same bits in fewer cycles than the one unit that divides.
#pragma once
#include "backends/cpu/emitter/isel.hpp"

namespace lazy::cpu_backend {

/// Rewrites the body of a map for AVX-512, before it is legalized.
void divide_by_reciprocals(Template&, const jit::loop::LoopKernel&);

}  // namespace lazy::cpu_backend
