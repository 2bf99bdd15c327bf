// Implements compound assignment: the variable is bound to the result; no other Tensor sees it.
#include "lazy/core/build.hpp"
#include "lazy/ops/elementwise.hpp"

namespace lazy {
using detail::fail;

namespace {
/// Returns the result of a compound assignment, if the left side may hold it.
jit::Handle updated(const char* op, const jit::Handle& left, const Tensor& result, const Site& s) {
  const jit::Handle& r = result.handle();
  if (!detail::same_kind(r->dtype, left->dtype))
    fail<DtypeError>(op,
                     std::string("the result is ") + name_of(r->dtype) +
                         " and does not go into a tensor of " + name_of(left->dtype) +
                         ": convert with astype",
                     s);
  if (!(r->shape == left->shape))
    fail<ShapeError>(
        op,
        "the result has shape " + to_string(r->shape) + ", the tensor assigned to " + to_string(left->shape),
        s);
  return detail::cast(r, left->dtype, s);
}
}  // namespace

#define LAZY_COMPOUND(symbol, function)                            \
  Tensor& Tensor::operator symbol(Arg v)& {                        \
    const detail::Spelled as(#function, #symbol);                  \
    const detail::Spelled update("update", #symbol);               \
    Tensor result = lazy::function(Arg(*this, v.site()), v);       \
    jit::Handle h = updated(#function, handle_, result, v.site()); \
    result = Tensor();                                             \
    update_to(std::move(h), v.site());                             \
    return *this;                                                  \
  }
LAZY_COMPOUND(+=, add)
LAZY_COMPOUND(-=, subtract)
LAZY_COMPOUND(*=, multiply)
LAZY_COMPOUND(/=, divide)
LAZY_COMPOUND(%=, remainder)
LAZY_COMPOUND(&=, bitwise_and)
LAZY_COMPOUND(|=, bitwise_or)
LAZY_COMPOUND(^=, bitwise_xor)
LAZY_COMPOUND(<<=, bitwise_left_shift)
LAZY_COMPOUND(>>=, bitwise_right_shift)
#undef LAZY_COMPOUND

Tensor& Tensor::operator++() & { return *this += Arg(1, node("operator++", Site{}).site); }
Tensor& Tensor::operator--() & { return *this -= Arg(1, node("operator--", Site{}).site); }
Tensor Tensor::operator++(int) & {
  Tensor before = *this;
  ++*this;
  return before;
}
Tensor Tensor::operator--(int) & {
  Tensor before = *this;
  --*this;
  return before;
}

Tensor& Tensor::add_(Arg v) & { return *this += std::move(v); }
Tensor& Tensor::sub_(Arg v) & { return *this -= std::move(v); }
Tensor& Tensor::mul_(Arg v) & { return *this *= std::move(v); }
Tensor& Tensor::div_(Arg v) & { return *this /= std::move(v); }
Tensor& Tensor::clamp_(Arg low, Arg high) & {
  const Site s = low.site();
  Tensor result = lazy::clip(Arg(*this, s), std::move(low), std::move(high));
  jit::Handle h = updated("clamp_", handle_, result, s);
  result = Tensor();
  update_to(std::move(h), s);
  return *this;
}

}  // namespace lazy
