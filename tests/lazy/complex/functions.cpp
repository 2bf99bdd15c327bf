// Tests what differentiates functions of complex numbers, against the gradients of backward() and
// differences: the gradient of a real L has dL/d re and dL/d im for parts.
#include <complex>
#include <functional>

#include "tests/common/check.hpp"

using namespace lazy;
using namespace std::complex_literals;
using C = std::complex<double>;

BOOST_AUTO_TEST_SUITE(complex_functions)

namespace {

using List = const std::vector<Tensor>&;
const std::vector<C> first = {{0.5, 0.75}, {-1.25, 0.5}, {0.3, -2.0}},
                     second = {{1, -0.5}, {0.25, 2}, {-1, 1}};

struct Case {
  const char* name;
  TensorFunction f;
};
const std::vector<Case> cases = {
    {"product", [](List x) { return x[0] * x[1]; }},
    {"quotient", [](List x) { return x[0] / (x[1] + 2); }},
    {"no derivative in the sense of analysis", [](List x) { return conj(x[0]) * x[1] + abs(x[0]); }},
    {"real", [](List x) { return abs(x[0] * x[1]) + real(exp(x[1])); }},
    {"a part alone", [](List x) { return imag(x[0] * x[0]); }},
    {"itself", [](List x) { return x[0]; }},
    {"of one", [](List x) { return sqrt(x[1]); }},
    {"transform", [](List x) { return fft::fft(x[0]) * x[1]; }},
};

/// Returns the sum of the products of the parts.
double inner(const std::vector<C>& a, const std::vector<C>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i].real() * b[i].real() + a[i].imag() * b[i].imag();
  return sum;
}

std::vector<C> numbers(const Tensor& x) { return astype(x, complex128).to_vector<C>(); }

void close(const Tensor& got, const std::vector<C>& want, double tolerance) {
  const std::vector<C> g = numbers(got);
  BOOST_REQUIRE_EQUAL(g.size(), want.size());
  for (size_t i = 0; i < g.size(); ++i)
    BOOST_TEST(std::abs(g[i] - want[i]) <= tolerance * (1 + std::abs(want[i])),
               i << ": " << g[i] << ", not " << want[i]);
}

/// Returns (f(x + h v) - f(x - h v)) / 2h.
std::vector<C> difference(const TensorFunction& f, const std::vector<Tensor>& x,
                          const std::vector<Tensor>& v) {
  const double h = 1e-6;
  const auto at = [&](double step) {
    std::vector<Tensor> moved;
    for (size_t i = 0; i < x.size(); ++i) moved.push_back(x[i] + step * v[i]);
    return f(moved);
  };
  return numbers((at(h) - at(-h)) / (2 * h));
}

}  // namespace

BOOST_AUTO_TEST_CASE(forward_and_backward_agree) {
  const std::vector<Tensor> x = {from_span(first), from_span(second)};
  const std::vector<Tensor> v = {from_span(std::vector<C>{1.0, 1i, 2.0 - 1i}),
                                 from_span(std::vector<C>{1i, -1.0, 0.5})};
  for (const Case& c : cases) BOOST_TEST_CONTEXT(c.name) {
      const std::vector<C> along = difference(c.f, x, v);
      const auto [value, tangent] = jvp(c.f, x, v);
      BOOST_TEST(tangent.dtype() == value.dtype());
      close(tangent, along, 1e-8);
      const auto [y, map] = linearize(c.f, x);
      close(map(v), along, 1e-8);
      close(map({x[1], x[0]}), difference(c.f, x, {x[1], x[0]}), 1e-8);
      const Pullback back = vjp(c.f, x);
      const Tensor u =
          y.is_complex() ? from_span(std::vector<C>{1.0 - 1i, 0.5, 2i}) : tensor({1.0, -0.5, 2.0}, float64);
      const std::vector<Tensor> g = back(u);
      BOOST_TEST(g[0].dtype() == complex128);
      // <u, J v> = <J^T u, v>
      BOOST_TEST(inner(numbers(u), along) ==
                     inner(numbers(g[0]), numbers(v[0])) + inner(numbers(g[1]), numbers(v[1])),
                 boost::test_tools::tolerance(1e-7));
      std::vector<Tensor> w = {from_span(first), from_span(second)};
      for (Tensor& t : w) t.requires_grad_();
      c.f(w).backward(u);
      for (int i = 0; i < 2; ++i)
        if (w[i].grad().defined()) close(g[i], numbers(w[i].grad()), 1e-15);
        else close(g[i], {0, 0, 0}, 0);
    }
}

BOOST_AUTO_TEST_CASE(gradients_of_losses) {
  const auto loss = [](const Tensor& z, const Tensor& w) { return sum(square(abs(z * w - 1.0))); };
  const Tensor z = from_span(first), w = from_span(second);
  const auto [value, g] = value_and_grad(loss)(z, w);
  BOOST_TEST(value.dtype() == float64);
  close(g[0], numbers(2 * conj(w) * (z * w - 1.0)), 1e-14);  // 2 dL/d conj(z)
  close(g[1], numbers(2 * conj(z) * (z * w - 1.0)), 1e-14);
  const auto complex_loss = [](const Tensor& x) { return sum(x); };
  BOOST_CHECK_THROW(grad(complex_loss)(z), DtypeError);
  // A real argument beside a complex one has a real gradient.
  const auto mixed = [](const Tensor& r, const Tensor& x) { return sum(abs(r * x)); };
  const auto both = grad(mixed)(tensor({1.0, 2.0, 3.0}, float64), z);
  BOOST_TEST(both[0].dtype() == float64);
  close(both[0], numbers(abs(z)), 1e-14);
  // Twice: the second derivative of |z|^4 in the direction v.
  const auto fourth = [](List x) { return sum(square(square(abs(x[0])))); };
  const Tensor v = from_span(second);
  const auto [y, product] = hessian_vector(fourth, {z}, {v});
  close(product[0], difference([&](List x) { return 4 * square(abs(x[0])) * x[0]; }, {z}, {v}), 1e-7);
}

BOOST_AUTO_TEST_CASE(jacobians_of_complex_values) {
  const auto f = [](const Tensor& x) { return exp(complex(x, x * x)); };
  const Tensor x = tensor({0.5, -0.25}, float64);
  const std::vector<C> a = numbers(f(x) * complex(ones({2}, float64), 2 * x));
  for (const Tensor& j : {jacrev(f, x), jacfwd(f, x)}) {
    BOOST_TEST((j.shape() == Shape{2, 2}));
    close(j.flatten(), {a[0], 0, 0, a[1]}, 1e-14);
  }
  BOOST_CHECK_THROW(jacrev([](const Tensor& z) { return abs(z); }, from_span(first)), DtypeError);
  BOOST_CHECK_THROW(jacfwd([](const Tensor& z) { return abs(z); }, from_span(first)), DtypeError);
}

BOOST_AUTO_TEST_CASE(checkpoints_and_own_derivatives) {
  for (const Case& c : cases) BOOST_TEST_CONTEXT(c.name) {
      std::vector<Tensor> plain = {from_span(first), from_span(second)},
                          again = {from_span(first), from_span(second)};
      for (Tensor& t : plain) t.requires_grad_();
      for (Tensor& t : again) t.requires_grad_();
      const Tensor y = c.f(plain), kept = checkpoint(c.f, again);
      close(kept, numbers(y), 0);
      const Tensor u =
          y.is_complex() ? from_span(std::vector<C>{1.0 - 1i, 0.5, 2i}) : tensor({1.0, -0.5, 2.0}, float64);
      y.backward(u);
      kept.backward(u);
      for (int i = 0; i < 2; ++i) {
        if (plain[i].grad().defined()) close(again[i].grad(), numbers(plain[i].grad()), 1e-15);
        else close(again[i].grad(), {0, 0, 0}, 0);  // of an argument that f does not read
      }
    }
  Tensor z = from_span(first), r = tensor({1.0, 2.0, 3.0}, float64);
  z.requires_grad_();
  r.requires_grad_();
  const Tensor y = custom_function([](List x) { return x[0] * x[1]; },
                                   [](List x, const Tensor& value, const Tensor& g) -> std::vector<Tensor> {
                                     BOOST_TEST(value.dtype() == complex128);
                                     return {g * x[1] * 10.0, real(g * conj(x[0]))};
                                   },
                                   {z, r});
  close(y, numbers(z * r), 0);
  y.backward(from_span(second));
  close(z.grad(), numbers(from_span(second) * r * 10.0), 1e-15);
  close(r.grad(), numbers(real(from_span(second) * conj(z))), 1e-15);
}

BOOST_AUTO_TEST_SUITE_END()
