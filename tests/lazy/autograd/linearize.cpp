// Tests linearize(): the derivative of jvp() along any number of directions, by one call of the function.
#include <random>

#include "lazy/lazy.hpp"
#include "tests/common/check.hpp"
#include "tests/common/count.hpp"
#include "tests/lazy/autograd/gradient_check.hpp"

using namespace lazy;

namespace {

using List = const std::vector<Tensor>&;
struct Case {
  const char* name;
  TensorFunction f;
};

const std::vector<Case> cases = {
    {"products", [](List x) { return tanh(matmul(x[0], x[1])); }},
    {"pointwise", [](List x) { return exp(x[0] * 0.5) * sin(x[1]) / (1 + square(x[0])); }},
    {"broadcast", [](List x) { return x[0](0) * x[1] + x[0](_, slice(0, 1)); }},
    {"softmax", [](List x) { return softmax(x[0], -1) - logsumexp(x[1], {0}); }},
    {"sums", [](List x) { return sum(x[0] * x[1]) + mean(x[0], {0}); }},
    {"running sums", [](List x) { return cumsum(x[0], 0) * cumprod(x[1], 1); }},
    {"sort", [](List x) { return sort(x[0] - x[1], 1).values; }},
    {"extremes", [](List x) { return max(x[0], {0}) * minimum(x[0], x[1]); }},
    {"choices", [](List x) { return where(x[0] > x[1], x[0] * x[1], x[1]); }},
    {"gathers",
     [](List x) {
       return x[0](_, {2, 0, 2}) * take(x[1], tensor({1, 1, 0}), 0);
     }},
    {"updates",
     [](List x) {
       Tensor y = x[0];
       y(1) = x[1](0) * 3;
       return y * y;
     }},
    {"shapes",
     [](List x) {
       return concat({x[0].T(), flip(x[1], 0)}, 0).reshape({9, 2});
     }},
    {"systems", [](List x) { return solve(x[0] + 4 * eye(3).astype(float64), x[1]); }},
    {"norms", [](List x) { return layer_norm(x[0], {3}) * linalg::norm(x[1]); }},
    {"transforms", [](List x) { return fft::irfft(fft::rfft(x[0], 3) * 2.0, 3) * x[1]; }},
    {"constant in one", [](List x) { return x[1] * 2 + stop_gradient(x[0]); }},
    {"constant", [](List x) { return stop_gradient(x[0] + x[1]); }},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(autograd_linearize)

BOOST_AUTO_TEST_CASE(is_jvp) {
  std::mt19937 random(5);
  const auto draw = [&] { return check::random_values(random, {3, 3}, -1, 1); };
  for (const Case& c : cases) {
    BOOST_TEST_CONTEXT(c.name) {
      const std::vector<Tensor> x = {draw(), draw()};
      int calls = 0;
      const auto [y, df] = linearize(
          [&](List at) {
            ++calls;
            return c.f(at);
          },
          x);
      check::same(y, c.f(x));
      for (int i = 0; i < 3; ++i) {
        const std::vector<Tensor> v = {draw(), i == 1 ? zeros({3, 3}, float64) : draw()};
        check::close(df(v), jvp(c.f, x, v).second.to_vector<double>(), 1e-12);
      }
      BOOST_TEST(calls == 1);
      BOOST_TEST(!y.requires_grad());
    }
  }
}

BOOST_AUTO_TEST_CASE(is_linear) {
  const Tensor x = tensor({0.5, -1.0, 2.0}, float64);
  const auto [y, df] = linearize([](const Tensor& t) { return erf(t) * t; }, x);
  const Tensor a = tensor({1.0, 2.0, 3.0}, float64), b = tensor({-1.0, 0.5, 0.0}, float64);
  check::close(df(2 * a - 3 * b), (2 * df(a) - 3 * df(b)).to_vector<double>(), 1e-12);
  check::close(df(zeros({3}, float64)), {0, 0, 0}, 0);
}

/// Counts the kernels that are products.
size_t products(const Explanation& e) { return lazy::test::count(to_string(e), " contract_"); }

BOOST_AUTO_TEST_CASE(computes_the_function_once) {
  std::mt19937 random(7);
  const Tensor m = check::random_values(random, {40, 40}, -1, 1),
               x = check::random_values(random, {40, 8}, -1, 1),
               a = check::random_values(random, {40, 8}, -1, 1),
               b = check::random_values(random, {40, 8}, -1, 1);
  const auto map = linearize([&](const Tensor& t) { return tanh(matmul(m, t)); }, x);
  const Tensor& y = map.first;
  const auto& df = map.second;
  Tensor first, second;
  const Explanation once = explain([&] {
    first = df(a);
    eval(y, first);
  });
  BOOST_TEST(products(once) >= 2u, to_string(once));  // the function's, one for the direction
  const Explanation again = explain([&] { (second = df(b)).eval(); });
  BOOST_TEST(products(again) == 1u, to_string(again));
  check::close(second, ((1 - square(tanh(matmul(m, x)))) * matmul(m, b)).to_vector<double>(), 1e-12);
  // Other directions are other runs of a program that is there.
  const uint64_t compiled = metrics().program_misses;
  for (int i = 1; i < 5; ++i) df(b * static_cast<double>(i)).eval();
  BOOST_TEST(metrics().program_misses - compiled <= 1u);
}

BOOST_AUTO_TEST_CASE(of_structures) {
  const std::vector<Tensor> x = {tensor({1.0, 2.0}), tensor(3.0)};
  const std::pair<Tensor, Tensor> pair{x[0], x[1]};
  const auto [y, df] = linearize([](const std::pair<Tensor, Tensor>& p) { return p.first * p.second; }, pair);
  check::equal(y, float32, {2}, {3, 6});
  check::equal(df({tensor({1.0, 0.0}), tensor(10.0)}), float32, {2}, {13, 20});
}

BOOST_AUTO_TEST_CASE(has_derivatives) {
  const Tensor x = tensor({1.0, 2.0, 3.0}, float64), t = tensor({1.0, 0.0, 2.0}, float64);
  const auto cube = [](const Tensor& v) { return v * v * v; };
  // The derivative by the place is the second one.
  const Tensor second = grad([&](const Tensor& w) { return sum(linearize(cube, w).second(t)); })(x);
  check::equal(second, float64, {3}, {6, 0, 36});
  check::equal(grad([&](const Tensor& w) { return sum(linearize(cube, w).first); })(x), float64, {3},
               {3, 12, 27});
  // That by the direction is the transposed derivative.
  const auto map = linearize(cube, x).second;
  check::equal(grad([&](const Tensor& v) { return sum(map(v) * t); })(t), float64, {3}, {3, 0, 54});
  // What the function reads beside its argument has its gradient, too.
  Tensor scale = tensor(2.0, float64).requires_grad_();
  const auto [y, df] = linearize([&](const Tensor& v) { return v * v * scale; }, x);
  BOOST_TEST(y.requires_grad());
  sum(df(t)).backward();
  check::equal(scale.grad(), float64, {}, {14});
  // A map may be made of a map.
  const auto inner = linearize([&](const Tensor& w) { return linearize(cube, w).second(t); }, x).second;
  check::equal(inner(t), float64, {3}, {6, 0, 72});
}

BOOST_AUTO_TEST_CASE(batches_of_directions) {
  const Tensor x = tensor({1.0, 2.0}, float64);
  const auto map = linearize([](const Tensor& v) { return stack({v(0) * v(1), v(0)}); }, x).second;
  const Tensor columns = vmap([&](const Tensor& v) { return map(v); })(eye(2).astype(float64));
  check::equal(columns, float64, {2, 2}, {2, 1, 1, 0});
}

BOOST_AUTO_TEST_CASE(errors) {
  const Tensor x = ones({3});
  const auto f = [](const Tensor& t) { return t * 2; };
  const auto df = linearize(f, x).second;
  THROWS(ShapeError, df(ones({4})), "linearize: a direction of shape [4] for an argument of shape [3]");
  THROWS(DtypeError, df(ones({3}, float64)), "linearize: a direction of float64 for an argument of float32");
  THROWS(DtypeError, linearize(f, arange(3)),
         "linearize: an argument is of int64: gradients are of floating point");
  THROWS(DtypeError, linearize([](const Tensor& t) { return argmax(t); }, x),
         "linearize: the value is of int64: gradients are of floating point");
  const auto list = linearize([](List v) { return v[0] + v[1]; }, {x, x}).second;
  THROWS(ShapeError, list({x}),
         "linearize: a direction for each argument is needed: there are 2 arguments and 1 directions");
  THROWS(Error, LinearMap()({x}), "linearize: an empty map");
}

BOOST_AUTO_TEST_SUITE_END()
