#include "lazy/linalg/linalg.hpp"

#include "jit/calls/cholesky.hpp"
#include "lazy/core/build.hpp"

namespace lazy {

Tensor cholesky(Arg x) {
  const char* const op = "cholesky";
  const DType t = detail::float_type(detail::common_type(op, {&x}));
  const detail::Operand h(op, x, t);
  const jit::Handle* operands[] = {&static_cast<const jit::Handle&>(h)};
  return Tensor(detail::record_call(jit::intern_call(jit::calls::kCholesky, std::string_view()), operands,
                                    x.site())[0]);
}

}  // namespace lazy
