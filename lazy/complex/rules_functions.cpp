// Holds the rules of elementary functions. They are holomorphic: of one derivative f' the gradients of both
// planes follow by the equations of Cauchy and Riemann, and no gradient goes through the formulas of parts.
#include <numbers>

#include "lazy/complex/rules.hpp"

namespace lazy::detail {
namespace {

using P = const PlaneOp&;
using C = ComplexTerm;
using Function = C (*)(const C&);
using Slope = C (*)(const C& x);

/// Records one part of a function's value as a composite, whose derivative by both parts of the operand is
/// that of the whole. `part` 0: the real one.
Handle part_of_value(P p, const C& x, const Term& value, int part, Slope slope) {
  Composite whole(p.name, {&x.re.handle(), &x.im.handle()}, p.site);
  // Both parts are computed before either is announced: an alias is what the composite computes.
  const Handle own = observed() ? alias_of(value.handle(), p.site) : value.handle();
  return whole.result(own, [name = p.name, part, slope](const Differentiated& d) -> std::vector<Handle> {
    const Formula f(name, d.site);
    const C at(f.term(d.operands[0]), f.term(d.operands[1]));
    const C by = slope(at);
    const Term g = f.term(d.gradient);
    if (part == 0) return {(g * by.re).handle(), (-(g * by.im)).handle()};
    return {(g * by.im).handle(), (g * by.re).handle()};
  });
}

template <Function f, Slope slope>
Handle holomorphic(P p) {
  const Formula formula(p.name, p.site);
  const C x(formula, p.operand(0));
  const C y = f(x);
  return jit::complex(part_of_value(p, x, y.re, 0, slope), part_of_value(p, x, y.im, 1, slope), p.site);
}

// sin z = -i sinh(iz), cos z = cosh(iz), tan z = -i tanh(iz); likewise the inverse functions.
C sin(const C& x) { return times_minus_i(sinh(times_i(x))); }
C cos(const C& x) { return cosh(times_i(x)); }
C tan(const C& x) { return times_minus_i(tanh(times_i(x))); }
C asinh(const C& x) { return times_minus_i(asin(times_i(x))); }
C atan(const C& x) { return times_minus_i(atanh(times_i(x))); }
C log2(const C& x) { return log(x) * std::numbers::log2e; }
C log10(const C& x) { return log(x) * std::numbers::log10e; }
C rsqrt(const C& x) { return 1.0 / sqrt(x); }
C sigmoid(const C& x) { return 1.0 / (exp(-x) + 1.0); }

#define LAZY_SLOPE(name, formula) \
  C slope_of_##name(const C& x) { return formula; }
LAZY_SLOPE(exp, exp(x))
LAZY_SLOPE(log, 1.0 / x)
LAZY_SLOPE(log1p, 1.0 / (x + 1.0))
LAZY_SLOPE(log2, (1.0 / x) * std::numbers::log2e)
LAZY_SLOPE(log10, (1.0 / x) * std::numbers::log10e)
LAZY_SLOPE(sqrt, 0.5 / sqrt(x))
LAZY_SLOPE(rsqrt, -0.5 / (x * sqrt(x)))
LAZY_SLOPE(sin, cos(x))
LAZY_SLOPE(cos, -sin(x))
LAZY_SLOPE(tan, square(tan(x)) + 1.0)
LAZY_SLOPE(sinh, cosh(x))
LAZY_SLOPE(cosh, sinh(x))
LAZY_SLOPE(tanh, 1.0 - square(tanh(x)))
LAZY_SLOPE(asin, 1.0 / (sqrt(1.0 - x) * sqrt(x + 1.0)))
LAZY_SLOPE(acos, -1.0 / (sqrt(1.0 - x) * sqrt(x + 1.0)))
LAZY_SLOPE(atan, 1.0 / (square(x) + 1.0))
LAZY_SLOPE(asinh, 1.0 / sqrt(square(x) + 1.0))
LAZY_SLOPE(acosh, 1.0 / (sqrt(x + -1.0) * sqrt(x + 1.0)))
LAZY_SLOPE(atanh, 1.0 / (1.0 - square(x)))
LAZY_SLOPE(sigmoid, sigmoid(x) * sigmoid(-x))
#undef LAZY_SLOPE

/// Returns exp(b log a); of 0 it is 1 for the exponent 0, 0 for one on the right, else NaN.
Handle power(P p) {
  const Formula f(p.name, p.site);
  const auto whole = [&](const Handle& h) { return f.broadcast(h, p.shape); };
  const Handle base = whole(p.operand(0)), exponent = whole(p.operand(1));
  const C a(f, base), b(f, exponent);
  const Term zero = (a.re == 0) & (a.im == 0), none = (b.re == 0) & (b.im == 0), right = b.re > 0;
  const Handle one = f.number(1, p.dtype), nothing = f.number(0, p.dtype);
  const Handle nan = f.number(std::numeric_limits<double>::quiet_NaN(), p.dtype);
  const Handle safe = f.where(zero.handle(), one, base);
  const Handle value = f.op(Op::exp, f.op(Op::multiply, f.op(Op::log, safe), exponent));
  const Handle of_zero = f.where(none.handle(), one, f.where(right.handle(), nothing, nan));
  return f.where((zero | none).handle(), of_zero, value);
}

constexpr PlaneRuleRow kFunctionRows[] = {
    {Op::exp, holomorphic<exp, slope_of_exp>},
    {Op::expm1, holomorphic<expm1, slope_of_exp>},
    {Op::log, holomorphic<log, slope_of_log>},
    {Op::log1p, holomorphic<log1p, slope_of_log1p>},
    {Op::log2, holomorphic<log2, slope_of_log2>},
    {Op::log10, holomorphic<log10, slope_of_log10>},
    {Op::sqrt, holomorphic<sqrt, slope_of_sqrt>},
    {Op::rsqrt, holomorphic<rsqrt, slope_of_rsqrt>},
    {Op::sin, holomorphic<sin, slope_of_sin>},
    {Op::cos, holomorphic<cos, slope_of_cos>},
    {Op::tan, holomorphic<tan, slope_of_tan>},
    {Op::sinh, holomorphic<sinh, slope_of_sinh>},
    {Op::cosh, holomorphic<cosh, slope_of_cosh>},
    {Op::tanh, holomorphic<tanh, slope_of_tanh>},
    {Op::asin, holomorphic<asin, slope_of_asin>},
    {Op::acos, holomorphic<acos, slope_of_acos>},
    {Op::atan, holomorphic<atan, slope_of_atan>},
    {Op::asinh, holomorphic<asinh, slope_of_asinh>},
    {Op::acosh, holomorphic<acosh, slope_of_acosh>},
    {Op::atanh, holomorphic<atanh, slope_of_atanh>},
    {Op::sigmoid, holomorphic<sigmoid, slope_of_sigmoid>},
    {Op::power, power},
};

}  // namespace

std::span<const PlaneRuleRow> plane_rules_of_functions() { return kFunctionRows; }

}  // namespace lazy::detail
