// Rewrites a template into operations that the level has, without changing a bit of any result.
//
// After this: bitcasts are gone (a value's type is then just its width), `cmp` carries its operands' type in
// `d`, masks are only combined by logic; on AVX2 there are no masks at all, but i32 or i64 lanes that are all
// ones or all zeros.
#pragma once
#include "backends/cpu/emitter/isel.hpp"
#include "backends/cpu/machine/features.hpp"

namespace lazy::cpu_backend {

void legalize(Template&, Isa);

}  // namespace lazy::cpu_backend
