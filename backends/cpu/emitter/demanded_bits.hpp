// Drops what makes narrow integers whole where nobody looks.
#pragma once
#include "backends/cpu/emitter/isel.hpp"

namespace lazy::cpu_backend {

/// Rewrites a body before it is legalized: integers of 8 and 16 bits are computed in lanes of 32, and each op
/// extends its result's sign or zeros. Sums and products need only the low bits of their operands, and a
/// store writes no more than these: what extends them on the way is left out, and products take the cheaper
/// instruction of 16 bits.
void drop_unneeded_bits(Template&, const jit::loop::LoopKernel&);

}  // namespace lazy::cpu_backend
