// Lists lane helpers, which vir::Op::patch calls for rare lanes: one row each.
#pragma once
#include <cstdint>

#include "backends/vector/vir.hpp"

namespace lazy::vir {

/// Applies the function to `n` lanes: out[i] = f(x[i], y[i]); arrays hold the lanes of the instruction's
/// operand type.
using HelperFn = void (*)(const void* x, const void* y, void* out, int n);

enum class Helper : HelperId {
#define LAZY_HELPER(name) name,
#include "backends/vector/helpers.def"
#undef LAZY_HELPER
  count_
};
#define LAZY_HELPER(name) void helper_##name(const void* x, const void* y, void* out, int n);
#include "backends/vector/helpers.def"
#undef LAZY_HELPER
/// Indexed by Helper.
extern const HelperFn kHelpers[];

}  // namespace lazy::vir
