// Implements LAZY_VERIFY: compares a program's values with the reference backend's values of the same ops,
// one by one.
#pragma once
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Compares the values of a run, before its nodes let go of their operands. On a difference beyond rounding,
/// a warning names the first op that differs when run alone, with its line, or says that it differs only when
/// fused.
void verify(const Program&, const CapturedGraph&, const Site&);

}  // namespace lazy::jit
