// One pointwise op as an expression.
#pragma once
#include <array>
#include <string>

#include "backends/cuda/emitter/prelude.hpp"
#include "jit/core/dtype.hpp"
#include "jit/core/op.hpp"

namespace lazy::cuda_backend {

/// `op` on operands of type `operand` (of `where`: its values), giving `result`. What it calls is put into
/// the prelude. Operands are names or constants. Throws CompileError for what is no pointwise op.
std::string expression(Prelude&, jit::Op op, DType operand, DType result,
                       const std::array<std::string, 3>& v);

}  // namespace lazy::cuda_backend
