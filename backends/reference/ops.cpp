#include "backends/reference/ops.hpp"

#include <initializer_list>

#include "jit/core/rules.hpp"

namespace lazy::reference {

StripFn meaning(jit::Op op, DType operand, DType result) {
  if (jit::kind_of(op) != jit::OpKind::pointwise || !jit::loop::accepts(op, operand)) return nullptr;
  if (op == jit::Op::cast) return cast_meaning(operand, result);
  if (result != jit::loop::result_type(op, operand)) return nullptr;
  for (auto family : {arithmetic_meaning, division_meaning, rounding_meaning, elementary_meaning,
                      bits_meaning, compare_meaning, random_meaning})
    if (StripFn f = family(op, operand)) return f;
  return nullptr;
}

}  // namespace lazy::reference
