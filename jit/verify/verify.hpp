// LAZY_VERIFY: what a program computed, compared with the reference backend's values of the same ops one by
// one.
#pragma once
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// After a run, before its nodes let go of their operands. On a difference beyond rounding, a warning names
/// the first op that differs when run alone, with its line, or says that the values differ only when fused.
void verify(const Program&, const CapturedGraph&, const Site&);

}  // namespace lazy::jit
