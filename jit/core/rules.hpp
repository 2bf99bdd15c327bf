// Answers which element types each op is defined on, from the dtype columns of ops.def.
#pragma once
#include "jit/core/dtype.hpp"
#include "jit/core/op.hpp"

namespace lazy::jit::loop {

/// True if `op` is defined in a kernel on operands of type `t`. For `where`, the type of the two values; for
/// `cast`, the type cast from. 16-bit floats are only loaded, cast and stored.
bool accepts(Op op, DType t);
/// Returns the type of the result, given the type that `accepts` speaks of. Not for cast, whose result is
/// given.
DType result_type(Op op, DType t);
/// True if results are right to within an error bound only, so that two backends may differ in the last bits.
bool is_approximate(Op op, DType t);
/// Returns "f32", "i64", "bool" and so on: the spelling of kernel dumps.
const char* short_name(DType t);

}  // namespace lazy::jit::loop
