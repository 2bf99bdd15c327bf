// Defines the meaning of each op, a strip at a time: one short function an op, in the file of its family.
#pragma once
#include "backends/reference/strip.hpp"

namespace lazy::reference {

/// Returns the meaning of a pointwise op on operands of type `operand` (for `where`: the type of its values),
/// giving `result`. Null exactly where jit::loop::accepts returns false.
StripFn meaning(jit::Op op, DType operand, DType result);

// Return the meaning of an op of one family; null for an op of another family.
StripFn cast_meaning(DType from, DType to);
StripFn arithmetic_meaning(jit::Op op, DType t);
StripFn division_meaning(jit::Op op, DType t);
StripFn rounding_meaning(jit::Op op, DType t);
StripFn elementary_meaning(jit::Op op, DType t);
StripFn bits_meaning(jit::Op op, DType t);
StripFn compare_meaning(jit::Op op, DType t);
StripFn random_meaning(jit::Op op, DType t);

}  // namespace lazy::reference
