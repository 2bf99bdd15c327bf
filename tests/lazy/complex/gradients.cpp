// Tests gradients of complex numbers against differences: of a real loss L(x) the gradient has dL/d re and
// dL/d im for parts.
#include <complex>
#include <functional>

#include "tests/common/check.hpp"

using namespace lazy;
using namespace std::complex_literals;
using C = std::complex<double>;

BOOST_AUTO_TEST_SUITE(complex_gradients)

namespace {

/// Returns a real loss in which both parts of y count.
Tensor loss_of(const Tensor& y) { return (real(y) * 0.75 - imag(y) * 1.25).sum() + (abs(y) * 0.5).sum(); }

void agrees(const char* name, const std::function<Tensor(const Tensor&)>& f, const std::vector<C>& at) {
  Tensor x = from_span(at);
  x.requires_grad_();
  BOOST_TEST(x.requires_grad());
  loss_of(f(x)).backward();
  const std::vector<C> g = x.grad().to_vector<C>();
  const double h = 1e-6;
  for (size_t i = 0; i < at.size(); ++i)
    for (const C step : {C(h), C(0, h)}) {
      std::vector<C> up = at, down = at;
      up[i] += step;
      down[i] -= step;
      const double want =
          (loss_of(f(from_span(up))).item<double>() - loss_of(f(from_span(down))).item<double>()) / (2 * h);
      const double got = step.real() != 0 ? g[i].real() : g[i].imag();
      BOOST_TEST(std::abs(got - want) <= 1e-6 * (1 + std::abs(want)),
                 name << " at " << at[i] << ": " << got << ", not " << want);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(differences) {
  const std::vector<C> some = {{0.5, 0.75}, {-1.25, 0.5}, {0.3, -2.0}, {-0.4, -0.6}};
#define ONE(name) \
  agrees(         \
      #name, [](const Tensor& x) { return name(x); }, some)
  ONE(exp);
  ONE(expm1);
  ONE(log);
  ONE(log1p);
  ONE(log2);
  ONE(log10);
  ONE(sqrt);
  ONE(rsqrt);
  ONE(sin);
  ONE(cos);
  ONE(tan);
  ONE(sinh);
  ONE(cosh);
  ONE(tanh);
  ONE(asin);
  ONE(acos);
  ONE(atan);
  ONE(asinh);
  ONE(acosh);
  ONE(atanh);
  ONE(sigmoid);
  ONE(reciprocal);
  ONE(sign);
  ONE(square);
  ONE(conj);
#undef ONE
  const Tensor other = from_span(std::vector<C>{{1, 2}, {-0.5, 1}, {2, -1}, {0.25, 0.5}});
  agrees(
      "multiply", [&](const Tensor& x) { return x * other * x; }, some);
  agrees(
      "divide", [&](const Tensor& x) { return other / x + x / other; }, some);
  agrees(
      "power", [&](const Tensor& x) { return pow(x, 1.5 + 0.5i) + pow(other, x); }, some);
  agrees(
      "prod", [&](const Tensor& x) { return x.prod() * 1i; }, some);
  agrees(
      "cumprod", [&](const Tensor& x) { return cumprod(x); }, some);
  agrees(
      "matmul",
      [&](const Tensor& x) {
        return matmul(x.reshape({2, 2}), other.reshape({2, 2}).mH());
      },
      some);
  agrees(
      "abs", [&](const Tensor& x) { return complex(abs(x), angle(x)); }, some);
  agrees(
      "views",
      [&](const Tensor& x) {
        return concat({x(slice(1, 3)), flip(x)}, 0) * x[0];
      },
      some);
  agrees(
      "var", [&](const Tensor& x) { return complex(var(x), norm(x)); }, some);
}

BOOST_AUTO_TEST_CASE(of_a_complex_value) {
  Tensor x = from_span(std::vector<C>{{1, 2}, {3, -1}});
  x.requires_grad_();
  const Tensor y = x * x;
  BOOST_CHECK_THROW(y.backward(), Error);
  y.backward(from_span(std::vector<C>{1.0, 1i}));  // conj(2x) times the gradient, as torch
  const std::vector<C> g = x.grad().to_vector<C>();
  BOOST_TEST((g[0] == std::conj(C(2, 4))));
  BOOST_TEST((g[1] == std::conj(C(6, -2)) * 1i));
  x.zero_grad();
  BOOST_TEST(!x.grad().defined());
  BOOST_TEST(!x.detach().requires_grad());
}

// A variable that is known to be real when it is marked has a gradient by its imaginary part, too.
BOOST_AUTO_TEST_CASE(of_real_numbers_that_are_marked) {
  Tensor x = astype(from_span(std::vector<double>{1, 2}), complex128);
  x.requires_grad_();
  sum(imag(x * x)).backward();
  BOOST_TEST((x.grad().to_vector<C>() == std::vector<C>{{0, 2}, {0, 4}}));
}

BOOST_AUTO_TEST_CASE(updates_keep_the_mark) {
  Tensor x = from_span(std::vector<C>{{1, 2}, {3, -1}});
  x.requires_grad_();
  for (int i = 0; i < 3; ++i) {
    (abs(x) * abs(x)).sum().backward();
    const no_grad scope;
    x -= x.grad() * 0.25;
    x.zero_grad();
  }
  BOOST_TEST(x.requires_grad());
  BOOST_TEST((x.to_vector<C>()[0] == C(0.125, 0.25)));
}

BOOST_AUTO_TEST_SUITE_END()
