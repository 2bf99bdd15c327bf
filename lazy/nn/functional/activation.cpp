#include "lazy/nn/functional/activation.hpp"

#include "lazy/formula/formula.hpp"
#include "lazy/ops/elementwise.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Records a function of one operand: `formula` gives its value.
template <class F>
Tensor activation(const char* name, Arg& a, F&& formula) {
  const Formula f(name, {&a});
  const Term x = f.term(a);
  Composite whole(name, {&x.handle()}, f.site);
  return f.finish(whole, formula(x));
}

/// Records one whose gradient is `slope(x, g)`, where the ops of the formula have another one at its corners,
/// or overflow.
template <class F, class G>
Tensor activation(const char* name, Arg& a, F&& formula, G slope) {
  const Formula f(name, {&a});
  const Term x = f.term(a);
  Composite whole(name, {&x.handle()}, f.site);
  return f.finish(whole, formula(x), [name, slope](const Differentiated& d) {
    const Formula back(name, d.site);
    const Term v = back.term(d.operands[0]);
    return std::vector{slope(v, back.term(d.gradient).as(v.handle()->dtype)).handle()};
  });
}

/// Returns g strictly between two bounds.
Term inside(const Term& x, double low, double high, const Term& g) {
  return where((x > low) & (x < high), g, 0.0);
}

Term between(const Term& x, double low, double high) { return minimum(maximum(x, low), high); }

/// Returns x, or 0 above 0, where another formula is taken: what overflows there would have a gradient of 0
/// times infinity.
Term up_to_zero(const Term& x) { return where(x > 0.0, 0.0, x); }

Term elu_of(const Term& x, double alpha) { return where(x > 0.0, x, expm1(up_to_zero(x)) * alpha); }

void check_dtype(const char* name, MaybeDType t, const Site& s) {
  if (t.given && !is_float(t.value))
    fail<DtypeError>(name, std::string("computes in floating point, not ") + name_of(t.value), s);
}

/// Records a function of lanes along an axis: `formula(x, axis)` gives its value if there are elements, and
/// `slope(y, g, axis)` the gradient of x by the value and its gradient.
template <class F, class G>
Tensor along(const char* name, Arg& a, int64_t axis, MaybeDType dtype, F&& formula, G slope) {
  Formula f(name, {&a});
  check_dtype(name, dtype, f.site);
  if (dtype.given) f.result = dtype.value, f.work = is_half(f.result) ? float32 : f.result;
  Term x = f.term(a);
  const Shape shape = x.shape();
  if (shape.empty()) x = reshape(x, {1});
  const int i = normal_axis(name, axis, x.rank(), f.site);
  Composite whole(name, {&x.handle()}, f.site);
  const Shape lanes = x.shape();
  if (numel(shape) > 0) x = reshape(formula(x, i), shape);
  // The derivative is by the value before it is rounded to the result's dtype.
  const Handle y = whole.result(x.handle(), [name, lanes, i, slope](const Differentiated& d) {
    const Formula back(name, d.site);
    const auto as_lanes = [&](const Handle& h) { return reshape(back.term(h), lanes); };
    return std::vector{slope(as_lanes(d.result), as_lanes(d.gradient), i).handle()};
  });
  return f.tensor(f.as(f.result, y));
}

Term softmax_of(const Term& x, int axis) {
  const Term e = exp(x - max(x, {axis}));
  return e / sum(e, {axis});
}

Term softmax_slope(const Term& y, const Term& g, int axis) { return y * (g - sum(y * g, {axis})); }

}  // namespace

Tensor softmax(Arg x, IntegerArg axis, MaybeDType dtype) {
  return along("softmax", x, axis, dtype, softmax_of, softmax_slope);
}

Tensor softmin(Arg x, IntegerArg axis, MaybeDType dtype) {
  return along(
      "softmin", x, axis, dtype, [](const Term& v, int i) { return softmax_of(-v, i); },
      [](const Term& y, const Term& g, int i) { return -softmax_slope(y, g, i); });
}

Tensor log_softmax(Arg x, IntegerArg axis, MaybeDType dtype) {
  return along(
      "log_softmax", x, axis, dtype,
      [](const Term& v, int i) {
        const Term d = v - max(v, {i});
        return d - log(sum(exp(d), {i}));
      },
      [](const Term& y, const Term& g, int i) { return g - exp(y) * sum(g, {i}); });
}

Tensor silu(Arg x) {
  return activation("silu", x, [](const Term& v) { return v * sigmoid(v); });
}

Tensor leaky_relu(Arg x, double slope) {
  return activation("leaky_relu", x, [=](const Term& v) { return where(v > 0.0, v, v * slope); });
}

Tensor elu(Arg x, double alpha) {
  return activation("elu", x, [=](const Term& v) { return elu_of(v, alpha); });
}

Tensor selu(Arg x) {
  constexpr double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
  return activation("selu", x, [](const Term& v) { return elu_of(v, alpha) * scale; });
}

Tensor celu(Arg x, double alpha) {
  if (alpha == 0) fail<Error>("celu", "alpha is 0", x.site());
  return activation("celu", x,
                    [=](const Term& v) { return where(v > 0.0, v, expm1(up_to_zero(v) / alpha) * alpha); });
}

Tensor softplus(Arg x, double beta, double threshold) {
  if (beta == 0) fail<Error>("softplus", "beta is 0", x.site());
  return activation(
      "softplus", x,
      [=](const Term& v) {
        const Term scaled = v * beta;
        return where(scaled > threshold, v, log1p(exp(scaled)) / beta);
      },
      [=](const Term& v, const Term& g) {
        const Term scaled = v * beta;
        return where(scaled > threshold, g, g * sigmoid(scaled));
      });
}

Tensor softsign(Arg x) {
  return activation("softsign", x, [](const Term& v) { return v / (abs(v) + 1.0); });
}

// tanh(log(1 + e^x)) = w / (w + 2) with w = e^x (e^x + 2), which is 1 to within rounding above 20.
Tensor mish(Arg x) {
  return activation(
      "mish", x,
      [](const Term& v) {
        const Term e = exp(v), w = e * (e + 2.0);
        return where(v > 20.0, v, v * (w / (w + 2.0)));
      },
      [](const Term& v, const Term& g) {  // t + x sigmoid(x) (1 - t^2), t = w / (w + 2)
        const Term e = exp(minimum(v, 20.0)), w = e * (e + 2.0), u = w + 2.0;
        return where(v > 20.0, g, g * (w / u + v * sigmoid(v) * ((w + 1.0) * 4.0 / (u * u))));
      });
}

Tensor hardtanh(Arg x, double low, double high) {
  if (low > high) fail<Error>("hardtanh", "min_val is above max_val", x.site());
  return activation(
      "hardtanh", x, [=](const Term& v) { return between(v, low, high); },
      [=](const Term& v, const Term& g) { return inside(v, low, high, g); });
}

Tensor hardsigmoid(Arg x) {
  return activation(
      "hardsigmoid", x, [](const Term& v) { return between(v + 3.0, 0, 6) / 6.0; },
      [](const Term& v, const Term& g) { return inside(v, -3, 3, g / 6.0); });
}

Tensor hardswish(Arg x) {
  return activation(
      "hardswish", x, [](const Term& v) { return v * between(v + 3.0, 0, 6) / 6.0; },
      [](const Term& v, const Term& g) {
        return where(v <= -3.0, 0.0, where(v < 3.0, g * (v / 3.0 + 0.5), g));
      });
}

Tensor relu6(Arg x) {
  return activation(
      "relu6", x, [](const Term& v) { return between(v, 0, 6); },
      [](const Term& v, const Term& g) { return inside(v, 0, 6, g); });
}

Tensor glu(Arg x, IntegerArg axis) {
  const Formula f("glu", {&x});
  const Term v = f.term(x);
  const int i = normal_axis(f.name, axis, v.rank(), f.site);
  const int64_t extent = v.extent(i), half = extent / 2;
  if (extent % 2)
    f.fail<ShapeError>("axis " + std::to_string(i) + " of " + to_string(v.shape()) + " has no halves");
  Composite whole(f.name, {&v.handle()}, f.site);
  return f.finish(whole, part(v, i, 0, half) * sigmoid(part(v, i, half, half)));
}

Tensor prelu(Arg x, Arg weight) {
  const Formula f("prelu", contraction, {&x, &weight});
  const Term v = f.term(x);
  Term w = f.term(weight);
  const int64_t count = numel(w.shape());
  const int rank = v.rank();
  if (w.rank() > 1 || (count != 1 && (rank < 2 || v.extent(1) != count)))
    f.fail<ShapeError>("a weight " + to_string(w.shape()) + " for " + to_string(v.shape()));
  Composite whole(f.name, {&v.handle(), &w.handle()}, f.site);
  w = reshape(w, count == 1 ? Shape() : along_axis(rank, 1, count));
  // What is above 0 has no part in the weight's gradient, an infinity neither.
  return f.finish(whole, where(v > 0.0, v, w * where(v > 0.0, 1.0, v)));
}

Tensor logsigmoid(Arg x) {
  return activation(
      "logsigmoid", x, [](const Term& v) { return minimum(v, 0.0) - log1p(exp(-abs(v))); },
      [](const Term& v, const Term& g) { return g * sigmoid(-v); });
}

Tensor tanhshrink(Arg x) {
  return activation("tanhshrink", x, [](const Term& v) { return v - tanh(v); });
}

Tensor softshrink(Arg x, double lambda) {
  if (!(lambda >= 0)) fail<Error>("softshrink", "lambda is negative", x.site());
  return activation("softshrink", x,
                    [=](const Term& v) { return where(abs(v) <= lambda, 0.0, v - copysign(lambda, v)); });
}

Tensor hardshrink(Arg x, double lambda) {
  return activation("hardshrink", x, [=](const Term& v) { return where(abs(v) <= lambda, 0.0, v); });
}

Tensor threshold(Arg x, double threshold, double value) {
  return activation("threshold", x, [=](const Term& v) { return where(v <= threshold, value, v); });
}

// (1 + tanh(u)) / 2 = sigmoid(2 u), which loses no digits where tanh(u) is near -1.
Tensor gelu(Arg x, Approximate approximate) {
  if (approximate == Approximate::none) return gelu(std::move(x));
  constexpr double twice_root = 1.5957691216057307117597842397375;  // 2 sqrt(2 / pi)
  return activation("gelu", x,
                    [](const Term& v) { return v * sigmoid((v + v * v * v * 0.044715) * twice_root); });
}

}  // namespace lazy
