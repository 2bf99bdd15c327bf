// Holds the rules of pointwise ops. Sources: the derivatives of elementary functions; at kinks and ties what
// torch does (half each for equal operands of maximum and minimum, 0 for abs at 0).
#include <cmath>
#include <numbers>

#include "jit/graph/accuracy.hpp"
#include "lazy/autograd/rules.hpp"

namespace lazy::detail {
namespace {

using D = const Differentiation&;

Term cos(const Term& a) { return unary(Op::cos, a); }
Term cosh(const Term& a) { return unary(Op::cosh, a); }
Term erf(const Term& a) { return unary(Op::erf, a); }
Term erfc(const Term& a) { return unary(Op::erfc, a); }
Term sign(const Term& a) { return unary(Op::sign, a); }
Term sin(const Term& a) { return unary(Op::sin, a); }
Term square(const Term& a) { return a * a; }
Term sinh(const Term& a) { return unary(Op::sinh, a); }

/// Differentiates an op of one operand: f(x, y) is its derivative.
template <Term (*f)(const Term& x, const Term& y)>
void by(D d) {
  d.to(0, [&] { return d.g() * f(d.x(0), d.y()); });
}

constexpr double kTwoBySqrtPi = 2 * std::numbers::inv_sqrtpi;

/// Returns the normal distribution's function: its tail is right, unless gelu's isn't either.
Term normal_distribution(const Term& x) {
  const DType t = x.handle()->dtype;
  if (jit::form_of(Op::gelu, t, jit::AccuracyScope::current()) == jit::Accuracy::full)
    return erfc(x * -std::numbers::sqrt2 / 2) * 0.5;
  return erf(x * (std::numbers::sqrt2 / 2)) * 0.5 + 0.5;
}

#define LAZY_DERIVATIVE(name, formula) \
  Term of_##name([[maybe_unused]] const Term& x, [[maybe_unused]] const Term& y) { return formula; }
LAZY_DERIVATIVE(abs, sign(x))
LAZY_DERIVATIVE(sqrt, 0.5 / y)
LAZY_DERIVATIVE(rsqrt, -0.5 * y / x)
LAZY_DERIVATIVE(exp, y)
LAZY_DERIVATIVE(expm1, y + 1)
LAZY_DERIVATIVE(log, 1 / x)
LAZY_DERIVATIVE(log1p, 1 / (x + 1))
LAZY_DERIVATIVE(log2, 1 / (x * std::numbers::ln2))
LAZY_DERIVATIVE(log10, 1 / (x * std::numbers::ln10))
LAZY_DERIVATIVE(sin, cos(x))
LAZY_DERIVATIVE(cos, -sin(x))
LAZY_DERIVATIVE(tan, 1 + y * y)
LAZY_DERIVATIVE(sinh, cosh(x))
LAZY_DERIVATIVE(cosh, sinh(x))
LAZY_DERIVATIVE(tanh, 1 - y * y)
LAZY_DERIVATIVE(asin, rsqrt((1 - x) * (1 + x)))
LAZY_DERIVATIVE(acos, -rsqrt((1 - x) * (1 + x)))
LAZY_DERIVATIVE(atan, 1 / (x * x + 1))
LAZY_DERIVATIVE(asinh, rsqrt(1 + x * x))
LAZY_DERIVATIVE(acosh, rsqrt(x - 1) * rsqrt(x + 1))
LAZY_DERIVATIVE(atanh, 1 / ((1 - x) * (1 + x)))
LAZY_DERIVATIVE(erf, exp(-square(x)) * kTwoBySqrtPi)
LAZY_DERIVATIVE(erfc, exp(-square(x)) * -kTwoBySqrtPi)
LAZY_DERIVATIVE(sigmoid, (1 - y) * y)
// The normal distribution's function and density: x/2 (1 + erf(x / sqrt 2)) is x times the former.
LAZY_DERIVATIVE(gelu,
                normal_distribution(x) + x * exp(x * x * -0.5) * (kTwoBySqrtPi * std::numbers::sqrt2 / 4))
#undef LAZY_DERIVATIVE

void cast(D d) {
  d.to(0, [&] { return d.g(); });
}
void negative(D d) {
  d.to(0, [&] { return -d.g(); });
}
void add(D d) {
  d.to(0, [&] { return d.g(); });
  d.to(1, [&] { return d.g(); });
}
void subtract(D d) {
  d.to(0, [&] { return d.g(); });
  d.to(1, [&] { return -d.g(); });
}
void multiply(D d) {
  if (d.op.operands[0].get() == d.op.operands[1].get()) return d.to(0, [&] { return d.g() * 2 * d.x(0); });
  d.to(0, [&] { return d.g() * d.x(1); });
  d.to(1, [&] { return d.g() * d.x(0); });
}
void divide(D d) {
  const Term share = d.g() / d.x(1);
  d.to(0, [&] { return share; });
  d.to(1, [&] { return -share * d.y(); });
}
/// x - floor(x / n) n.
void remainder(D d) {
  d.to(0, [&] { return d.g(); });
  d.to(1, [&] { return -d.g() * binary(Op::floor_divide, d.x(0), d.x(1)); });
}
/// Returns 0 where n is 0, which is known of a number.
void power(D d) {
  const Term x = d.x(0), n = d.x(1);
  const jit::Node& exponent = *n.handle().get();
  d.to(0, [&] {
    const Term slope = n * power(x, n - 1);
    const bool known = exponent.op == Op::constant && exponent.scalar.bits != 0;
    return d.g() * (known ? slope : where(n == 0, 0, slope));
  });
  d.to(1, [&] { return d.g() * where((x == 0) & (n >= 0), 0, d.y() * log(x)); });
}
void atan2(D d) {
  // Divided twice, since squares over- and underflow. At (0, 0) it is 0, as torch's.
  const Term a = d.x(0), b = d.x(1), length = binary(Op::hypot, a, b), none = length == 0;
  const auto share = [&](const Term& t) { return where(none, 0, t / length / length); };
  d.to(0, [&] { return d.g() * share(b); });
  d.to(1, [&] { return -d.g() * share(a); });
}
void hypot(D d) {
  for (const size_t i : {0, 1}) d.to(i, [&] { return d.g() * where(d.y() == 0, 0, d.x(i) / d.y()); });
}
void copysign(D d) {
  d.to(0, [&] { return d.g() * copysign(sign(d.x(0)), d.x(0) * copysign(1, d.x(1))); });
}
/// Of what is piecewise constant it is 0: nothing is added.
void constant(D) {}
/// A result that equals both operands is half of each.
void extreme(D d) {
  for (const size_t i : {0, 1})
    d.to(i, [&] {
      const Term x = d.x(i), other = d.x(1 - i), y = d.y();
      return d.g() * where(x == other, 0.5, where(x == y, y.number(1), 0));
    });
}
void choose(D d) {
  d.to(1, [&] { return where(d.x(0), d.g(), 0); });
  d.to(2, [&] { return where(d.x(0), 0, d.g()); });
}
void fma(D d) {
  d.to(0, [&] { return d.g() * d.x(1); });
  d.to(1, [&] { return d.g() * d.x(0); });
  d.to(2, [&] { return d.g(); });
}

constexpr RuleRow kPointwiseRules[] = {
    {Op::cast, cast},          {Op::negative, negative},
    {Op::abs, by<of_abs>},     {Op::sqrt, by<of_sqrt>},
    {Op::rsqrt, by<of_rsqrt>}, {Op::exp, by<of_exp>},
    {Op::expm1, by<of_expm1>}, {Op::log, by<of_log>},
    {Op::log1p, by<of_log1p>}, {Op::log2, by<of_log2>},
    {Op::log10, by<of_log10>}, {Op::sin, by<of_sin>},
    {Op::cos, by<of_cos>},     {Op::tan, by<of_tan>},
    {Op::sinh, by<of_sinh>},   {Op::cosh, by<of_cosh>},
    {Op::tanh, by<of_tanh>},   {Op::asin, by<of_asin>},
    {Op::acos, by<of_acos>},   {Op::atan, by<of_atan>},
    {Op::asinh, by<of_asinh>}, {Op::acosh, by<of_acosh>},
    {Op::atanh, by<of_atanh>}, {Op::erf, by<of_erf>},
    {Op::erfc, by<of_erfc>},   {Op::sigmoid, by<of_sigmoid>},
    {Op::gelu, by<of_gelu>},   {Op::add, add},
    {Op::subtract, subtract},  {Op::multiply, multiply},
    {Op::divide, divide},      {Op::remainder, remainder},
    {Op::power, power},        {Op::atan2, atan2},
    {Op::hypot, hypot},        {Op::copysign, copysign},
    {Op::maximum, extreme},    {Op::minimum, extreme},
    {Op::where, choose},       {Op::fma, fma},
    {Op::ceil, constant},      {Op::floor, constant},
    {Op::round, constant},     {Op::trunc, constant},
    {Op::sign, constant},      {Op::floor_divide, constant},
};

}  // namespace

std::span<const RuleRow> pointwise_rules() { return kPointwiseRules; }

}  // namespace lazy::detail
