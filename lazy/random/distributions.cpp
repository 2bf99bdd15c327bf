#include "lazy/random/distributions.hpp"

#include "lazy/core/planes.hpp"
#include "lazy/core/special_values.hpp"
#include "lazy/ops/special.hpp"
#include "lazy/random/draw.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

void check_positive(const Draw& d, const char* what, double v) {
  if (!(v > 0)) d.fail<Error>(std::string(what) + " is " + std::to_string(v) + ", not positive");
}

/// Returns x scale + loc.
Tensor moved(const Draw& d, const Handle& x, const ScalarNumber& loc, const ScalarNumber& scale) {
  return d.result(d.scaled(x, scale.as_double(), loc.as_double()));
}

/// Returns a draw in the shape of a tensor, in at least its dtype.
Draw like(const char* name, Generator& g, const Handle& h, DType dtype, const Site& s) {
  check_drawn(name, h->shape, s);
  need_real(name, h->dtype, s);
  return {{name, s}, g, h->shape, dtype, h->device};
}

struct GammaNumbers {
  Handle value;  // factor e^power, which underflows where the concentration is small
  Handle factor, power;
};

/// Draws numbers of the gamma distribution of each concentration, in the dtype of computation.
GammaNumbers gamma_numbers(const Draw& d, const Handle& concentration) {
  constexpr int kRounds = 6;
  const Handle small = d.op(Op::less, concentration, 1);
  const Handle a = d.where(small, d.op(Op::add, concentration, 1), concentration);
  const Handle level = d.op(Op::subtract, a, 1.0 / 3);
  const Handle spread = d.op(Op::divide, 1.0 / 3, d.op(Op::sqrt, level));
  Handle found, y;
  for (int k = 0; k < kRounds; ++k) {
    const Handle x = standard_normal(d), u = d.fraction(0.5);
    const Handle root = d.op(Op::add, d.op(Op::multiply, x, spread), 1);
    const Handle v = d.op(Op::multiply, root, d.op(Op::multiply, root, root));
    const Handle positive = d.op(Op::greater, v, 0);
    const Handle bounded = d.where(positive, v, 1);
    // log u < x^2 / 2 + d (1 - v + log v)
    const Handle gain = d.op(Op::add, d.op(Op::subtract, 1, bounded), d.op(Op::log, bounded));
    const Handle bound =
        d.op(Op::add, d.op(Op::multiply, d.op(Op::multiply, x, x), 0.5), d.op(Op::multiply, level, gain));
    const Handle accepted = d.both(positive, d.op(Op::less, d.op(Op::log, u), bound));
    const Handle value = d.op(Op::multiply, level, bounded);
    y = y ? d.where(found, y, value) : value;
    found = found ? d.either(found, accepted) : accepted;
  }
  // Of a concentration below 1, that of one more times u^(1 / a).
  const Handle u = d.fraction(0.5);
  const Handle inverse = d.op(Op::divide, 1, concentration);
  const Handle value = d.where(small, d.op(Op::multiply, y, d.op(Op::power, u, inverse)), y);
  const Handle positive = d.op(Op::greater, concentration, 0);
  return {d.where(positive, value, kNaN), y,
          d.where(small, d.op(Op::multiply, d.op(Op::log, u), inverse), 0)};
}

Handle gamma_of(const Draw& d, const Handle& concentration) { return gamma_numbers(d, concentration).value; }

/// Returns the logarithms of the numbers, at least so large that two of them can be subtracted.
Handle logarithms(const Draw& d, const GammaNumbers& n) {
  const double least = n.value->dtype == float64 ? -1e300 : -1e30;
  return d.op(Op::maximum, d.op(Op::add, d.op(Op::log, n.factor), n.power), least);
}

/// Tells where a sum of gamma numbers has lost digits to underflow: of small concentrations all may be 0.
Handle lost(const Draw& d, const Handle& sum) {
  return d.op(Op::less, sum, sum->dtype == float64 ? 1e-290 : 1e-30);
}

/// Applies f to a draw and a parameter in the dtype of computation.
template <class F>
Tensor of_parameter(const char* name, Generator& g, Arg& parameter, F&& f) {
  const Site s = parameter.site();
  const Operand h(name, parameter);
  const Draw d = like(name, g, h, float_type(h->dtype), s);
  return d.result(f(d, d.as(d.work(), h)));
}

/// Counts in [0, 80) how many probabilities of counts add up to less than u: rates below 32.
Handle inverted(const Draw& d, const Handle& u, const Handle& rate) {
  constexpr int kMost = 80;
  Handle p = d.op(Op::exp, d.op(Op::negative, rate)), sum = p, count;
  for (int k = 1; k <= kMost; ++k) {
    const Handle beyond = d.as(float64, d.op(Op::greater, u, sum));
    count = count ? d.op(Op::add, count, beyond) : beyond;
    p = d.op(Op::multiply, p, d.op(Op::divide, rate, k));
    sum = d.op(Op::add, sum, p);
  }
  return count;
}

/// Returns floor of the expansion of the inverse distribution function around a normal quantile.
Handle expanded(const Draw& d, const Handle& u, const Handle& rate) {
  const Handle w = ndtri(d.arg(u)).handle(), square = d.op(Op::multiply, w, w);
  const Handle root = d.op(Op::sqrt, rate);
  const Handle second = d.op(Op::add, d.op(Op::divide, square, 6), 1.0 / 3);
  const Handle third = d.op(Op::multiply, w, d.op(Op::subtract, -1.0 / 36, d.op(Op::divide, square, 72)));
  const Handle inner = d.op(Op::add, d.op(Op::divide, square, 270), 7.0 / 810);
  const Handle fourth = d.op(Op::subtract, d.op(Op::multiply, square, inner), 8.0 / 405);
  Handle y = d.op(Op::add, rate, d.op(Op::multiply, root, w));
  y = d.op(Op::add, y, second);
  y = d.op(Op::add, y, d.op(Op::divide, third, root));
  y = d.op(Op::add, y, d.op(Op::divide, fourth, rate));
  return d.op(Op::maximum, d.op(Op::floor, y), 0);
}

}  // namespace

Tensor truncated_normal(Generator& g, ScalarNumber mean, ScalarNumber std, ScalarNumber low,
                        ScalarNumber high, ShapeArg shape, MaybeDType t, MaybeDevice device, Site s) {
  const Draw d = floats("truncated_normal", g, shape, t, device, s);
  check_positive(d, "std", std.as_double());
  const double m = mean.as_double(), width = std.as_double();
  double a = in_default_mode([&] { return (low.as_double() - m) / width; });
  double b = in_default_mode([&] { return (high.as_double() - m) / width; });
  if (!(a < b))
    d.fail<Error>("low is " + std::to_string(low.as_double()) + ", high " + std::to_string(high.as_double()));
  // Above the mean mirrored, where probabilities keep their digits.
  const double sign = a > 0 ? -1 : 1;
  if (a > 0) a = -a, b = -b, std::swap(a, b);
  const double from = in_default_mode([&] { return std::erfc(-a * std::numbers::sqrt2 / 2) / 2; });
  const double to = in_default_mode([&] { return std::erfc(-b * std::numbers::sqrt2 / 2) / 2; });
  const Draw wide{{d.name, d.site}, g, d.shape, float64, d.device};
  const Handle x = ndtri(d.arg(wide.scaled(wide.fraction(0.5), to - from, from))).handle();
  const Handle y = wide.scaled(x, sign * width, m);
  const Handle bounded = wide.op(Op::minimum, wide.op(Op::maximum, y, low.as_double()), high.as_double());
  return d.result(bounded);
}

Tensor laplace(Generator& g, ScalarNumber loc, ScalarNumber scale, ShapeArg shape, MaybeDType t,
               MaybeDevice device, Site s) {
  const Draw d = floats("laplace", g, shape, t, device, s);
  check_positive(d, "scale", scale.as_double());
  const Handle u = d.fraction(0.5), low = d.op(Op::less, u, 0.5);
  const Handle tail = d.op(Op::log, d.op(Op::multiply, d.where(low, u, d.op(Op::subtract, 1, u)), 2));
  return moved(d, d.where(low, tail, d.op(Op::negative, tail)), loc, scale);
}

Tensor cauchy(Generator& g, ScalarNumber median, ScalarNumber scale, ShapeArg shape, MaybeDType t,
              MaybeDevice device, Site s) {
  const Draw d = floats("cauchy", g, shape, t, device, s);
  check_positive(d, "scale", scale.as_double());
  const Handle turn = d.scaled(d.fraction(0.5), std::numbers::pi, -std::numbers::pi / 2);
  return moved(d, d.op(Op::tan, turn), median, scale);
}

Tensor gumbel(Generator& g, ScalarNumber loc, ScalarNumber scale, ShapeArg shape, MaybeDType t,
              MaybeDevice device, Site s) {
  const Draw d = floats("gumbel", g, shape, t, device, s);
  check_positive(d, "scale", scale.as_double());
  return moved(d, d.op(Op::negative, d.op(Op::log, detail::exponential(d))), loc, scale);
}

Tensor log_normal(Generator& g, ScalarNumber mean, ScalarNumber std, ShapeArg shape, MaybeDType t,
                  MaybeDevice device, Site s) {
  const Draw d = floats("log_normal", g, shape, t, device, s);
  check_positive(d, "std", std.as_double());
  return d.result(d.op(Op::exp, d.scaled(standard_normal(d), std.as_double(), mean.as_double())));
}

Tensor geometric(Generator& g, double p, ShapeArg shape, MaybeDType t, MaybeDevice device, Site s) {
  constexpr const char* name = "geometric";
  if (!(p > 0 && p <= 1)) fail<Error>(name, "p is " + std::to_string(p) + ", not in (0, 1]", s);
  const DType dtype = t.or_else(int64);
  if (is_bool(dtype)) fail<DtypeError>(name, "draws numbers, not bool", s);
  check_drawn(name, shape, s);
  const Draw d{{name, s}, g, shape, float64, device_of(device, s)};
  const double rate = in_default_mode([&] { return std::log1p(-p); });  // -infinity for p = 1: always 1
  const Handle trials = d.op(Op::floor, d.op(Op::divide, d.op(Op::log, d.fraction(0.5)), d.number(rate)));
  return Tensor(d.as(dtype, d.op(Op::add, trials, 1)));
}

Tensor standard_gamma(Generator& g, Arg concentration) {
  return of_parameter("standard_gamma", g, concentration, gamma_of);
}

Tensor gamma(Generator& g, ScalarNumber concentration, ScalarNumber scale, ShapeArg shape, MaybeDType t,
             MaybeDevice device, Site s) {
  const Draw d = floats("gamma", g, shape, t, device, s);
  check_positive(d, "concentration", concentration.as_double());
  check_positive(d, "scale", scale.as_double());
  return d.result(d.op(Op::multiply, gamma_of(d, d.number(concentration.as_double())), scale));
}

Tensor beta(Generator& g, Arg a, Arg b) {
  constexpr const char* name = "beta";
  const Site s = a.site();
  const DType t = float_type(common_type(name, {&a, &b}));
  need_real(name, t, s);
  const Operand p(name, a, t), q(name, b, t);
  const Shape shape = broadcast_shapes(name, p->shape, q->shape, s);
  check_drawn(name, shape, s);
  check_devices(name, {&static_cast<const Handle&>(p), &static_cast<const Handle&>(q)}, s);
  const Draw d{{name, s}, g, shape, t, numel(p->shape) == numel(shape) ? p->device : q->device};
  const GammaNumbers x = gamma_numbers(d, d.as(d.work(), p)), y = gamma_numbers(d, d.as(d.work(), q));
  const Handle sum = d.op(Op::add, x.value, y.value);
  const Handle gap = d.op(Op::subtract, logarithms(d, x), logarithms(d, y));
  return d.result(d.where(lost(d, sum), d.op(Op::sigmoid, gap), d.op(Op::divide, x.value, sum)));
}

Tensor chi2(Generator& g, Arg df) {
  return of_parameter("chi2", g, df, [](const Draw& d, const Handle& n) {
    return d.op(Op::multiply, gamma_of(d, d.op(Op::multiply, n, 0.5)), 2);
  });
}

Tensor student_t(Generator& g, Arg df) {
  return of_parameter("student_t", g, df, [](const Draw& d, const Handle& n) {
    const Handle half = d.op(Op::multiply, n, 0.5);
    const Handle spread = d.op(Op::sqrt, d.op(Op::divide, gamma_of(d, half), half));
    return d.op(Op::divide, standard_normal(d), spread);
  });
}

Tensor dirichlet(Generator& g, Arg concentration) {
  const Site s = concentration.site();
  if (shape_of("dirichlet", concentration).empty())
    fail<ShapeError>("dirichlet", "concentrations have no dimension", s);
  return of_parameter("dirichlet", g, concentration, [](const Draw& d, const Handle& a) {
    const GammaNumbers y = gamma_numbers(d, a);
    const Handle sum = d.reduce(Op::sum, y.value, {-1}, keepdims), l = logarithms(d, y);
    const Handle e = d.op(Op::exp, d.op(Op::subtract, l, d.reduce(Op::max, l, {-1}, keepdims)));
    return d.where(lost(d, sum), d.op(Op::divide, e, d.reduce(Op::sum, e, {-1}, keepdims)),
                   d.op(Op::divide, y.value, sum));
  });
}

Tensor poisson(Generator& g, Arg rate) {
  constexpr const char* name = "poisson";
  const Site s = rate.site();
  const Operand h(name, rate);
  const Draw d = like(name, g, h, float64, s);
  const Handle given = d.as(float64, h), u = d.fraction(0.5);
  const Handle low = d.op(Op::less, given, 32);
  const Handle y =
      d.where(low, inverted(d, u, d.where(low, given, 1)), expanded(d, u, d.where(low, 32, given)));
  const Handle counts = d.where(d.op(Op::greater_equal, given, 0), y, kNaN);
  return Tensor(d.as(float_type(h->dtype), counts));
}

Tensor rand_like(Generator& g, Arg x, MaybeDType t) {
  const Operand h("rand_like", x);
  return rand(g, h->shape, t.or_else(h->dtype), h->device, x.site());
}
Tensor randn_like(Generator& g, Arg x, MaybeDType t) {
  const Operand h("randn_like", x);
  return randn(g, h->shape, t.or_else(h->dtype), h->device, x.site());
}
Tensor randint_like(Generator& g, Arg x, IntegerArg low, IntegerArg high, MaybeDType t) {
  const Operand h("randint_like", x);
  return randint(g, low, high, h->shape, t.or_else(h->dtype), h->device, x.site());
}

}  // namespace lazy
