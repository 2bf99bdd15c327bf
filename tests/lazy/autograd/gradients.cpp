// Tests what gradients are used for: training in one program a step, higher orders, values that don't depend
// on anything, and errors.
#include "tests/lazy/autograd/gradient_check.hpp"

using namespace lazy;

namespace {

Tensor wave(const Shape& shape, double frequency) {
  return sin(reshape(arange(0, numel(shape), 1, float32), shape) * frequency).eval();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(autograd)

BOOST_AUTO_TEST_CASE(values_and_gradients) {
  const Tensor x = tensor({1.0, 2.0, 3.0}), y = tensor({4.0, 5.0, 6.0});
  const auto [value, g] =
      value_and_grad([](const Tensor& a, const Tensor& b) { return sum(a * b * b); })(x, y);
  BOOST_TEST(value.item<double>() == 174.0);
  check::equal(g[0], float32, {3}, {16, 25, 36});
  check::equal(g[1], float32, {3}, {8, 20, 36});
  check::equal(grad([](const Tensor& a) { return sum(a * a * a); })(x), float32, {3}, {3, 12, 27});
  // The same tensor as two arguments is two arguments.
  const auto both = grad([](const Tensor& a, const Tensor& b) { return sum(a * a * b); })(x, x);
  check::equal(both[0], float32, {3}, {2, 8, 18});
  check::equal(both[1], float32, {3}, {1, 4, 9});
  // A derivative of a derivative of a derivative.
  const auto cube = [](const Tensor& a) { return a * a * a; };
  BOOST_TEST(grad(grad(grad(cube)))(tensor(2.0)).item<double>() == 6.0);
}

BOOST_AUTO_TEST_CASE(what_does_not_depend) {
  const Tensor x = tensor({1.0, 2.0});
  const auto none = [](const Tensor&, const Tensor& b) { return sum(b * 2); };
  check::equal(grad(none)(x, x)[0], float32, {2}, {0, 0});
  check::equal(grad([](const Tensor& a) { return sum(a * stop_gradient(a * a)); })(x), float32, {2}, {1, 4});
  check::equal(grad([](const Tensor& a) { return sum(a * (a > 1).astype(float32)); })(x), float32, {2},
               {0, 1});
  check::equal(grad([](const Tensor& a) {
                 Tensor scale;
                 {
                   const no_grad scope;
                   scale = exp(a);
                 }
                 return sum(a * scale / scale);
               })(x),
               float32, {2}, {1, 1});
  check::equal(grad([](const Tensor& a) { return sum(floor(a)); })(x), float32, {2}, {0, 0});
}

// A function may look at its values on the way: what it saw stays there for the gradient.
BOOST_AUTO_TEST_CASE(values_seen_on_the_way) {
  const auto f = [](const Tensor& a) {
    Tensor y = a * a;
    while (sum(y).item<double>() < 100) y = y * 2;
    return sum(y);
  };
  check::equal(grad(f)(tensor({1.0, 2.0})), float32, {2}, {64, 128});
}

BOOST_AUTO_TEST_CASE(dtypes) {
  for (const DType t : {float16, bfloat16, float32, float64}) {
    const Tensor x = asarray(std::vector<float>{1, 2, 4}).astype(t);
    const Tensor g = grad([](const Tensor& a) { return sum(a * a); })(x);
    check::equal(g.astype(float64), float64, {3}, {2, 4, 8});
    BOOST_TEST((g.dtype() == t));
  }
  // A gradient goes back through a conversion in the dtype of what was converted.
  const Tensor g = grad([](const Tensor& a) { return sum(a.astype(float64) * 3); })(ones({2}));
  BOOST_TEST((g.dtype() == float32));
}

// Forward, backward and update are one flush and one program; new rates and sizes compile nothing.
BOOST_AUTO_TEST_CASE(training) {
  const auto f = [](const Tensor& x) { return sin(x * 3) * 0.5; };
  Tensor w1 = wave({1, 32}, 1.7), b1 = zeros({32}).eval(), w2 = wave({32, 1}, 0.9) * 0.3,
         b2 = zeros({1}).eval();
  eval(w1, b1, w2, b2);
  double first = 0, last = 0;
  uint64_t misses = 0;
  for (int i = 0; i < 300; ++i) {
    const int64_t n = 60 + i % 3;
    const Tensor x = linspace(-1, 1, n)(_, newaxis), y = f(x);
    const uint64_t flushes = metrics().flushes;
    const auto loss = [&](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d) {
      return mse_loss(matmul(tanh(matmul(x, a) + b), c) + d, y);
    };
    const auto [value, g] = value_and_grad(loss)(w1, b1, w2, b2);
    const double rate = 0.2 / (1 + i * 0.001);
    w1 -= rate * g[0], b1 -= rate * g[1], w2 -= rate * g[2], b2 -= rate * g[3];
    eval(value, w1, b1, w2, b2);
    BOOST_TEST(metrics().flushes == flushes + 1);
    last = value.item<float>();
    if (i == 0) first = last;
    if (i == 5) misses = metrics().program_misses;
  }
  BOOST_TEST(metrics().program_misses == misses);
  BOOST_TEST(last < first * 0.1);
}

// The gradient of a dense layer: the product, its gradient by the weights, and what is between them.
BOOST_AUTO_TEST_CASE(kernels) {
  const Tensor x = wave({16, 8}, 0.3), w = wave({8, 4}, 0.7), y = wave({16, 4}, 0.2);
  const Explanation e = explain([&] {
    const auto [value, g] =
        value_and_grad([&](const Tensor& a) { return mean(square(matmul(x, a) - y)); })(w);
    eval(value, g);
  });
  BOOST_REQUIRE_EQUAL(e.flushes.size(), 1u);
  BOOST_TEST(e.flushes[0].kernels <= 4u);
}

BOOST_AUTO_TEST_CASE(pullbacks) {
  const Tensor x = tensor({1.0, 2.0});
  const Pullback back = vjp([](const std::vector<Tensor>& v) { return v[0] * v[1]; }, {x, x + 1});
  check::equal(back.value, float32, {2}, {2, 6});
  check::equal(back(tensor({1.0, 0.0}))[0], float32, {2}, {2, 0});
  check::equal(back(tensor({0.0, 1.0}))[1], float32, {2}, {0, 2});
  THROWS(ShapeError, back(ones({3})), "vjp: a gradient of [3], float32 for a value of [2], float32");
}

BOOST_AUTO_TEST_CASE(errors) {
  const auto same = [](const Tensor& a) { return a; };
  const auto total = [](const Tensor& a) { return sum(a); };
  THROWS(DtypeError, grad(total)(arange(3)),
         "grad: an argument is of int64: gradients are of floating point");
  THROWS(ShapeError, grad(same)(ones({2})), "grad: the value has one element, not shape [2]");
  BOOST_CHECK_THROW(grad(total)(Tensor()), Error);
  BOOST_CHECK_THROW(grad([](const Tensor& a) { return sum(a) > 0; })(ones({2})), DtypeError);
  BOOST_CHECK_THROW(grad([](const Tensor&) -> Tensor { throw 1; })(ones({2})), int);
  check::equal(grad(total)(ones({2})), float32, {2}, {1, 1});  // goes on after all that
}

BOOST_AUTO_TEST_SUITE_END()
