// Finds the recipe of an elementary op (forms.def).
#pragma once
#include "backends/vector/vir.hpp"
#include "jit/core/op.hpp"

namespace lazy::vecmath {

using One = vir::Val (*)(vir::Builder&, vir::Val);
using Two = vir::Val (*)(vir::Builder&, vir::Val, vir::Val);

/// Returns the recipe of a function of one operand in this form; null for an op, or a form, that has none.
One unary(jit::Op, jit::Accuracy = jit::Accuracy::full);
/// Returns the same of a function of two operands.
Two binary(jit::Op, jit::Accuracy = jit::Accuracy::full);

}  // namespace lazy::vecmath
