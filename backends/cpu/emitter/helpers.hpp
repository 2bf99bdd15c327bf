// Helpers: what a rare lane calls (vir::Op::patch), or a launch. One row each; reached through the context
// pointer, so that generated code holds no address.
#pragma once
#include <cstdint>

#include "backends/cpu/emitter/vir.hpp"

namespace lazy::cpu {

/// Applies the function to `n` lanes: out[i] = f(x[i], y[i]); arrays hold the lanes of the instruction's
/// operand type.
using HelperFn = void (*)(const void* x, const void* y, void* out, int n);

enum class Helper : vir::HelperId {
#define LAZY_HELPER(name) name,
#include "backends/cpu/emitter/helpers.def"
#undef LAZY_HELPER
  count_
};
/// The table that word ArgLayout::kContext of a launch points to.
extern const HelperFn kHelpers[];

}  // namespace lazy::cpu
