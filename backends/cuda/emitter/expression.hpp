// Writes one pointwise op as an expression.
#pragma once
#include <array>
#include <string>

#include "backends/cuda/emitter/prelude.hpp"
#include "jit/core/dtype.hpp"
#include "jit/core/op.hpp"

namespace lazy::cuda_backend {

/// Returns the text of `op` on operands of type `operand` (for `where`: the type of its values), giving
/// `result`. Puts what it calls into the prelude. Operands are names or constants. Throws CompileError for
/// what is no pointwise op.
std::string expression(Prelude&, jit::Op op, DType operand, DType result, const std::array<std::string, 3>& v,
                       jit::Accuracy = jit::Accuracy::full);

}  // namespace lazy::cuda_backend
