// Finds the recipe of an elementary op (forms.def).
#pragma once
#include "backends/vector/vir.hpp"
#include "jit/core/op.hpp"

namespace lazy::vecmath {

using One = vir::Val (*)(vir::Builder&, vir::Val);
using Two = vir::Val (*)(vir::Builder&, vir::Val, vir::Val);

/// Returns the recipe of a function of one operand in this form; null for an op, or a form, that has none.
One unary(jit::Op, jit::Accuracy = jit::Accuracy::full);
/// Returns the recipe of a function of two operands; null for an op that has none.
Two binary(jit::Op);

}  // namespace lazy::vecmath
