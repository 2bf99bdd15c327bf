// Orders a template's instructions so that its independent chains take turns.
#pragma once
#include "backends/cpu/emitter/isel.hpp"

namespace lazy::cpu_backend {

/// True for divisions and roots: one unit does them, one after the other.
constexpr bool is_slow(const vir::Inst& in) { return in.op == vir::Op::div || in.op == vir::Op::sqrt; }
/// Returns the cycles until an instruction's result can be used, roughly.
constexpr int latency_of(const vir::Inst& in) {
  return is_slow(in) ? 12 : in.type == vir::Type::f32 || in.type == vir::Type::f64 ? 4 : 2;
}

/// Orders a long template's instructions as a processor of one instruction a cycle would begin them, those on
/// the longest way to the end first. Chains that follow each other in the source, as those of two functions,
/// then take turns: a processor looks ahead only so far, and instructions that wait for the one before stand
/// in the way of those that need not. Leaves a template alone whose values would then need more than
/// `registers` at a time. Each value is computed from the same ones, so no bit changes.
void interleave_chains(Template&, int registers);

}  // namespace lazy::cpu_backend
