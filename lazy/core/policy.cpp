#include "lazy/core/policy.hpp"

#include "lazy/core/build.hpp"

namespace lazy::detail {

thread_local constinit Policy* PolicyScope::current_ = nullptr;

DType contraction_type(const char* function, std::span<const Arg* const> arguments,
                       std::span<const Tensor* const> optional) {
  if (Policy* const p = PolicyScope::current(); p && !jit::WithinExpansion::on()) [[unlikely]]
    if (const std::optional<DType> t = p->operand_type(function, arguments, optional)) return *t;
  DType t = promoted_type(function, arguments);
  for (const Tensor* o : optional)
    if (o->defined()) t = promote(function, t, o->handle()->dtype, arguments[0]->site());
  return t;
}

DType asked_type(const char* function, DType t, Device device) {
  if (!is_half(t) || jit::WithinExpansion::on()) return t;
  return PolicyScope::current()->argument_type(function, t, device);
}

Handle Operand::by_policy(const char* op, const Arg& a) {
  const Handle& h = a.handle();
  return cast(h, asked_type(op, h->dtype, h->device), a.site());
}

}  // namespace lazy::detail
