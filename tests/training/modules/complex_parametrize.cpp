// Tests complex parameters that are computed from parts whenever they are read.
#include <complex>

#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/check.hpp"

using namespace lazy;
using namespace std::complex_literals;
using namespace lazy::nn::utils::parametrize;
namespace ready = lazy::nn::utils::parametrizations;
using C = std::complex<double>;

namespace {

struct Map : nn::Module {
  Parameter weight;
  LAZY_MODULE(weight)
  Map() {
    Generator g(5);
    weight = Parameter(randn(g, {3, 4}, complex128));
  }
  Tensor operator()(const Tensor& x) const { return matmul(x, weight); }
};

Tensor input() {
  Generator g(6);
  return randn(g, {5, 3}, complex128);
}

void equal(const Tensor& x, const Tensor& y, double tolerance = 1e-12) {
  BOOST_TEST((x.dtype() == y.dtype()));
  BOOST_TEST((x.shape() == y.shape()));
  BOOST_TEST(max(abs(x.detach() - y.detach())).item<double>() <= tolerance);
}

/// Makes the loss smaller by some steps.
void learns(Map& m) {
  optim::Adam o(m.named_parameters(), {.lr = 0.02});
  double first = 0, last = 0;
  for (int i = 0; i < 20; ++i) {
    o.zero_grad();
    const Tensor loss = mean(square(abs(m(input()) - 0.5i)));
    loss.backward();
    o.step();
    last = loss.item<double>();
    if (i == 0) first = last;
  }
  BOOST_TEST(last < 0.9 * first);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(complex_parametrizations)

BOOST_AUTO_TEST_CASE(weight_norm) {
  for (const std::optional<int64_t> dim : {std::optional<int64_t>(0), std::optional<int64_t>(1), {}}) {
    Map m, plain;
    ready::weight_norm(m, "weight", dim);
    equal(m.weight, plain.weight);
    BOOST_TEST(m.weight.requires_grad());
    // The same as the formula, gradients too.
    auto& parts = parametrizations(m.weight);
    BOOST_TEST((parts.original(0).dtype() == float64));
    Tensor g = parts.original(0).detach().copy(), v = parts.original(1).detach().copy();
    g.requires_grad_(), v.requires_grad_();
    const Tensor squares = square(abs(v));
    const Tensor length = sqrt(dim ? sum(squares, {1 - *dim}, keepdims) : sum(squares));
    sum(square(abs(matmul(input(), v * (g / length)) - 1.0))).backward();
    sum(square(abs(m(input()) - 1.0))).backward();
    equal(parts.original(0).grad(), g.grad());
    equal(parts.original(1).grad(), v.grad());
    m.weight.zero_grad();
    BOOST_TEST(!parts.original(1).grad().defined());
    learns(m);
    const Tensor before = Tensor(m.weight).detach();
    remove_parametrizations(m, "weight");
    equal(m.weight, before);
    BOOST_TEST(m.weight.requires_grad());
  }
}

BOOST_AUTO_TEST_CASE(spectral_norm) {
  Map m, plain;
  m.weight = plain.weight = plain.weight * tensor({{4.0}, {1.0}, {0.5}}, float64);
  ready::spectral_norm(m, "weight", 60);
  const Tensor largest = linalg::svdvals(plain.weight.detach())(0);
  equal(m.weight, plain.weight / largest, 1e-9);
  learns(m);
  m.train(false);
  equal(linalg::svdvals(Tensor(m.weight).detach())(0), ones({}, float64), 1e-3);  // of the step before
}

struct Hermitian : Parametrization {
  Tensor forward(const std::vector<Tensor>& x, Site) override { return triu(x[0]) + conj(triu(x[0], 1)).T(); }
};

BOOST_AUTO_TEST_CASE(of_ones_own) {
  Map m;
  Generator g(7);
  m.weight.reset(randn(g, {3, 3}, complex128));
  register_parametrization(m, "weight", Hermitian());
  const Tensor w = Tensor(m.weight).detach();
  equal(triu(w, 1), triu(conj(w.T()), 1));
  Map copy(m);
  learns(m);
  equal(copy.weight, w);
  // Polar coordinates: parts of other dtypes, and a weight that is assigned to.
  Map polar_map;
  register_parametrization(
      polar_map, "weight", [](const std::vector<Tensor>& x) { return polar(x[0], x[1]); },
      [](const Tensor& value) {
        return std::vector{abs(value), angle(value)};
      });
  equal(polar_map.weight, Map().weight);
  learns(polar_map);
  polar_map.weight = full({3, 4}, C(0, 2), complex128);
  equal(polar_map.weight, full({3, 4}, C(0, 2), complex128));
  const NamedTensors state = polar_map.state_dict();
  Map other(polar_map);
  other.load_state_dict(state);
  equal(other.weight, polar_map.weight);
  polar_map.weight.requires_grad_(false);
  BOOST_TEST(!polar_map.weight.requires_grad());
}

BOOST_AUTO_TEST_CASE(low_rank) {
  Map m;
  const Tensor before = m.weight.detach();
  ready::low_rank(m, "weight", 2);
  equal(m.weight, before);
  learns(m);
}

BOOST_AUTO_TEST_SUITE_END()
