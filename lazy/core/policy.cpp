#include "lazy/core/policy.hpp"

#include "lazy/core/build.hpp"

namespace lazy::detail {

thread_local constinit Policy* PolicyScope::current_ = nullptr;

DType contraction_type(const char* function, std::span<const Arg* const> arguments,
                       std::span<const Tensor* const> optional) {
  if (Policy* const p = PolicyScope::current()) [[unlikely]]
    if (const std::optional<DType> t = p->operand_type(function, arguments, optional)) return *t;
  DType t = common_type(function, arguments);
  for (const Tensor* o : optional)
    if (o->defined()) t = promote(function, t, o->handle()->dtype, arguments[0]->site());
  return t;
}

}  // namespace lazy::detail
