#include "lazy/nn/functional/dropout.hpp"

#include <cmath>

#include "lazy/formula/formula.hpp"
#include "lazy/nn/functional/activation.hpp"
#include "lazy/random/distributions.hpp"
#include "lazy/random/random.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Returns the shape of one number for each channel of x, as it broadcasts.
Shape of_channels(const Formula& f, const Term& x) {
  if (x.rank() < 2) f.fail<ShapeError>("takes x of at least 2 axes, not " + to_string(x.shape()));
  Shape r(x.rank(), 1);
  r[0] = x.extent(0), r[1] = x.extent(1);
  return r;
}

/// Returns where numbers are kept: with probability 1 - p.
Term kept(const Formula& f, Generator& g, const Term& x, const Shape& shape, double p) {
  const Tensor u = rand(g, shape, plane_type(x.handle()->dtype), x.handle()->device, f.site);
  return f.term(u.handle()) >= p;
}

void check_probability(const Formula& f, double p) {
  if (!(p >= 0 && p <= 1)) f.fail<Error>("p is " + std::to_string(p) + ", not in [0, 1]");
}

/// Replaces numbers by selu's lowest value and restores mean and variance.
Tensor alpha(const Formula& f, Generator& g, const Term& x, const Shape& shape, double p) {
  constexpr double low = -1.7580993408473766;  // -scale alpha of selu
  Composite whole(f.name, {&x.handle()}, f.site);
  if (p == 1) return f.finish(whole, x * 0.0);
  const double a = in_default_mode([&] { return 1 / std::sqrt((1 - p) * (1 + p * low * low)); });
  const double b = in_default_mode([&] { return -a * p * low; });
  return f.finish(whole, where(kept(f, g, x, shape, p), x, low) * a + b);
}

}  // namespace

Tensor feature_dropout(Generator& g, Arg x, double p, bool training) {
  const Formula f("feature_dropout", {&x});
  const Term v = f.term(x);
  check_probability(f, p);
  const Shape shape = of_channels(f, v);
  Composite whole(f.name, {&v.handle()}, f.site);
  if (!training || p == 0) return f.tensor(whole.result(f.as(f.result, v.handle())), x);
  const double scale = p == 1 ? 1 : in_default_mode([&] { return 1 / (1 - p); });
  return f.finish(whole, where(kept(f, g, v, shape, p), v * scale, 0.0));
}

Tensor alpha_dropout(Generator& g, Arg x, double p, bool training) {
  const Formula f("alpha_dropout", {&x});
  const Term v = f.term(x);
  check_probability(f, p);
  if (!training || p == 0) return f.tensor(f.as(f.result, v.handle()), x);
  return alpha(f, g, v, v.shape(), p);
}

Tensor feature_alpha_dropout(Generator& g, Arg x, double p, bool training) {
  const Formula f("feature_alpha_dropout", {&x});
  const Term v = f.term(x);
  check_probability(f, p);
  const Shape shape = of_channels(f, v);
  if (!training || p == 0) return f.tensor(f.as(f.result, v.handle()), x);
  return alpha(f, g, v, shape, p);
}

Tensor rrelu(Generator& g, Arg x, double lower, double upper, bool training) {
  const Formula f("rrelu", {&x});
  const Term v = f.term(x);
  if (!(lower <= upper))
    f.fail<Error>("lower is " + std::to_string(lower) + ", upper " + std::to_string(upper));
  Composite whole(f.name, {&v.handle()}, f.site);
  const double middle = in_default_mode([&] { return (lower + upper) / 2; });
  if (!training) return f.finish(whole, where(v > 0.0, v, v * middle));
  const Tensor slope = uniform(g, lower, upper, v.shape(), f.work, v.handle()->device, f.site);
  return f.finish(whole, where(v > 0.0, v, v * f.term(slope.handle())));
}

Tensor gumbel_softmax(Generator& g, Arg logits, double tau, bool hard, IntegerArg axis) {
  const Formula f("gumbel_softmax", {&logits});
  const Term v = f.term(logits);
  if (!(tau > 0)) f.fail<Error>("tau is " + std::to_string(tau) + ", not positive");
  const int a = f.axis(axis, v.handle());
  const Tensor noise = gumbel(g, 0, 1, v.shape(), f.work, v.handle()->device, f.site);
  Composite whole(f.name, {&v.handle()}, f.site);
  const Term moved = (v + f.term(noise.handle())) / tau;
  if (!hard) return f.finish(whole, f.term(softmax(f.arg(moved.handle()), a).handle()));
  if (v.extent(a) == 0) return f.finish(whole, v);
  const Handle winner = f.reduce(Op::argmax, moved.handle(), {a}, keepdims);
  const Handle index = f.Recorder::index(a, v.shape(), v.handle());
  return f.finish(whole, f.term(f.op(Op::equal, index, winner)).as(f.work));
}

}  // namespace lazy
