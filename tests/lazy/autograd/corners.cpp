// Tests gradients at corners: kinks, ties, zeros, saturation, infinities, where a formula's parts have none.
// Expected values are torch 2.15's, or computed by hand; second derivatives are compared with differences.
#include <limits>

#include "tests/lazy/autograd/gradient_check.hpp"

using namespace lazy;
using check::two_orders;
using List = const std::vector<Tensor>&;
using Values = std::vector<double>;
using Function = std::function<Tensor(const Tensor&)>;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Values slope(const Function& f, const Values& at, const Shape& shape = {-1}) {
  const auto g = grad([&](const Tensor& x) { return sum(f(x)); });
  return g(reshape(asarray(at), shape)).to_vector<double>();
}

void check_slope(const char* what, const Function& f, const Values& at, const Values& expected,
                 const Shape& shape = {-1}) {
  const Values got = slope(f, at, shape);
  BOOST_REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    BOOST_TEST((got[i] == expected[i] || std::abs(got[i] - expected[i]) <= 1e-10 * std::abs(expected[i])),
               what << " at " << at[i] << ": " << got[i] << ", not " << expected[i]);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gradients_at_corners)

BOOST_AUTO_TEST_CASE(functions) {
  check_slope(
      "sinc", sinc, {0, 1e-9, 1e-3, 0.15, 0.16, 2, -0.0},
      {0, -3.2898681336964528e-9, -0.0032898648867278964, -0.48260825210498703, -0.5131987642547577, 0.5, 0});
  const double at_zero = -2 / std::sqrt(std::numbers::pi);
  check_slope("erfcx", erfcx, {0, 1e-8, 1e-5},
              {at_zero, at_zero + 2e-8, at_zero + 2e-5 - 2.2567583341910251e-10});
  check_slope("logit", logit, {0, 1, 0.5, 1e-17, 0.25}, {kInfinity, kInfinity, 4, 1e17, 16. / 3});
  check_slope("entr", entr, {0, 1}, {kInfinity, -1});
  check_slope("ndtri", ndtri, {0, 0.5}, {kInfinity, std::sqrt(2 * std::numbers::pi)});
  check_slope("cbrt", [](const Tensor& x) { return cbrt(x); }, {8, kInfinity, -kInfinity, 0},
              {1. / 12, 0, 0, kInfinity});
  check_slope("fmod", [](const Tensor& x) { return fmod(x, 2.0); }, {0, 1e-6, 1, 2, -2, -0.0},
              {1, 1, 1, 1, 1, 1});
  check_slope("fmod's divisor",
              [](const Tensor& y) {
                return fmod(tensor({7.0, -7.0, 1.0}), y);
              },
              {2, 2, 2}, {-3, 3, 0});
  check_slope("mish", mish, {1e3, 1e12, 1e16, 1e20, -1e3}, {1, 1, 1, 1, 0});
  check_slope("rrelu", [](const Tensor& x) { return rrelu(x, 0.2, 0.2); }, {0, -1, 1}, {0.2, 0.2, 1});
  check_slope("lp_pool", [](const Tensor& x) { return lp_pool(x, 2, 2); }, {0, 0, 3, 4}, {0, 0, 0.6, 0.8},
              {1, 1, 4});
  check_slope("atan2 by y", [](const Tensor& y) { return atan2(y, zeros({3}, float64)); }, {0, 1, 1e-200},
              {0, 0, 0});
  check_slope("atan2 by x", [](const Tensor& x) { return atan2(full({3}, 1e-200, float64), x); },
              {0, 1e-200, 1e200}, {-1e200, -0.5e200, 0});
}

BOOST_AUTO_TEST_CASE(losses) {
  const auto of = [](auto loss) { return [loss](const Tensor& x) { return loss(x, zeros_like(x)); }; };
  const double far = kInfinity;
  check_slope("huber_loss",
              of([](const Tensor& x, const Tensor& y) { return huber_loss(x, y, Reduction::sum); }),
              {0, 0.5, 1, 2, -3, far, -far}, {0, 0.5, 1, 1, -1, 1, -1});
  check_slope("smooth_l1_loss",
              of([](const Tensor& x, const Tensor& y) { return smooth_l1_loss(x, y, Reduction::sum); }),
              {0, 0.5, 1, 2, far, -far}, {0, 0.5, 1, 1, 1, -1});
  const Tensor labels = tensor({1.0, 0.0, 1.0, 0.0}, float64);
  check_slope("binary_cross_entropy",
              [&](const Tensor& x) { return binary_cross_entropy(x, labels, {}, Reduction::sum); },
              {1, 0, 0.5, 1}, {0, 0, -2, 1e12});
  check_slope("binary_cross_entropy behind sigmoid",
              [&](const Tensor& x) { return binary_cross_entropy(sigmoid(x), labels, {}, Reduction::sum); },
              {800, -800, 0, 800}, {0, 0, -0.5, 0});
  check_slope(
      "gaussian_nll_loss's variance",
      [](const Tensor& v) {
        return gaussian_nll_loss(tensor({1.0, 2.0}), tensor({0.0, 0.0}), v, false, 0.5, Reduction::sum);
      },
      {0.1, 2}, {-1, -0.25});
  check_slope("margin_ranking_loss",
              [](const Tensor& x) {
                return margin_ranking_loss(x, tensor({1.0, 2.0}), tensor({1.0, -1.0}), 0, Reduction::sum);
              },
              {1, 2}, {0, 0});
  check_slope("hinge_embedding_loss", [](const Tensor& x) { return hinge_embedding_loss(x, tensor({-1.0})); },
              {1}, {0});
  check_slope("multi_margin_loss", [](const Tensor& x) { return multi_margin_loss(x, tensor({0})); }, {2, 1},
              {0, 0}, {1, 2});
  check_slope("multilabel_margin_loss",
              [](const Tensor& x) {
                return multilabel_margin_loss(x, tensor({{0, -1}}));
              },
              {1, 0}, {0, 0}, {1, 2});
  check_slope("cosine_embedding_loss",
              [](const Tensor& x) {
                return cosine_embedding_loss(x, tensor({{0.0, 1.0}}), tensor({-1.0}));
              },
              {1, 0}, {0, 0}, {1, 2});
  check_slope("triplet_margin_loss",
              [](const Tensor& x) {
                return triplet_margin_loss(tensor({{0.0}}), x, tensor({{2.0}}),
                                           {.margin = 1, .p = 1, .eps = 0});
              },
              {1}, {0}, {1, 1});
}

// What is smooth has its second derivative where an |x| or a where of its formula has none.
BOOST_AUTO_TEST_CASE(second_derivatives) {
  const Tensor half = full({3}, 0.5, float64), at = tensor({0.5, 0.0, 2.0}, float64);
  const auto both = [&](const char* what, const TensorFunction& f, const Tensor& x) {
    two_orders(what, f, {x}, 1e-5);
  };
  both(
      "logaddexp", [&](List x) { return logaddexp(x[0], half); }, at);
  both(
      "logaddexp2", [&](List x) { return logaddexp2(x[0], half); }, at);
  both(
      "logsigmoid", [&](List x) { return logsigmoid(x[0]); }, at);
  both(
      "softplus", [&](List x) { return softplus(x[0]); }, at);
  both(
      "binary_cross_entropy_with_logits",
      [&](List x) { return binary_cross_entropy_with_logits(x[0], half, {}, Reduction::none); }, at);
  both(
      "soft_margin_loss",
      [&](List x) {
        return soft_margin_loss(x[0], tensor({1.0, -1.0, 1.0}), Reduction::none);
      },
      at);
  both(
      "multilabel_soft_margin_loss",
      [&](List x) {
        return multilabel_soft_margin_loss(reshape(x[0], {1, 3}), tensor({{1.0, 0.0, 1.0}}));
      },
      at);
  both(
      "huber_loss", [&](List x) { return huber_loss(x[0], half, Reduction::none); }, at);
  both(
      "smooth_l1_loss", [&](List x) { return smooth_l1_loss(x[0], half, Reduction::none); }, at);
  both(
      "sinc", [&](List x) { return sinc(x[0]); }, tensor({0.0, 0.01, 1.5}, float64));
  const Tensor zeros_among = tensor({{2.0, 0.0, 3.0}, {0.0, 0.0, 2.0}, {1.5, 2.0, 0.5}}, float64);
  for (const int axis : {0, 1}) {
    both(
        "prod", [&](List x) { return prod(x[0], {axis}); }, zeros_among);
    both(
        "cumprod", [&](List x) { return cumprod(x[0], axis); }, zeros_among);
  }
  both(
      "prod of all", [&](List x) { return prod(x[0]); }, zeros_among);
  for (const Tensor& x :
       {tensor({{1.0, 2.0}, {2.0, 4.0}}, float64), zeros({2, 2}, float64), tensor({{3.0}}, float64),
        tensor({{1.0, 2.0, 3.0}, {2.0, 4.0, 6.0}, {1.0, 0.0, 1.0}}, float64)})
    both(
        "det", [&](List m) { return det(m[0]); }, x);
  both(
      "softmax", [&](List x) { return softmax(x[0], -1); }, zeros_among);
  both(
      "softmin", [&](List x) { return softmin(x[0], 0); }, zeros_among);
  both(
      "log_softmax", [&](List x) { return log_softmax(x[0], -1); }, zeros_among);
  both(
      "cross_entropy",
      [&](List x) {
        return cross_entropy(x[0], tensor({0, 2, 1}));
      },
      zeros_among);
}

// Of what is piecewise constant a gradient is 0, and no reason to throw.
BOOST_AUTO_TEST_CASE(piecewise_constant) {
  Tensor x = tensor({1.25, 2.5}, float64);
  x.requires_grad_();
  for (Tensor (*f)(Arg) : {static_cast<Tensor (*)(Arg)>(round), floor, ceil, trunc, sign}) {
    x.zero_grad();
    sum(f(x)).backward();
    BOOST_REQUIRE(x.grad().defined());
    BOOST_TEST(x.grad().to_vector<double>() == Values({0, 0}));
    sum(f(x) * x).backward();
    BOOST_TEST(x.grad().to_vector<double>() == f(x).to_vector<double>());
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(marks_of_variables)

BOOST_AUTO_TEST_CASE(a_copy_has_its_own) {
  for (int kind = 0; kind < 5; ++kind) {
    Tensor x = tensor({1.0, 2.0}, float64);
    Tensor y = kind == 0   ? x.clone()
               : kind == 1 ? x.detach()
               : kind == 2 ? x
               : kind == 3 ? x.to(float64)
                           : reshape(x, {2});
    y.requires_grad_();
    BOOST_TEST(!x.requires_grad());
    sum(x * y).backward();
    BOOST_TEST(y.grad().to_vector<double>() == Values({1, 2}));
    BOOST_TEST(!x.grad().defined());
    Tensor z = y;
    z.requires_grad_(false);
    BOOST_TEST(y.requires_grad());
    BOOST_TEST(!z.requires_grad());
  }
}

BOOST_AUTO_TEST_CASE(a_clone_without_gradients) {
  Tensor w = tensor({1.0, 2.0}, float64), before;
  w.requires_grad_();
  {
    const no_grad scope;
    before = w.clone();
  }
  BOOST_TEST(!before.requires_grad());
  sum(square(w * 2.0 - before)).backward();
  BOOST_TEST(w.grad().to_vector<double>() == Values({4, 8}));
  BOOST_TEST(w.clone().requires_grad());
}

BOOST_AUTO_TEST_CASE(a_copy_of_an_argument_is_updated) {
  const auto f = [](const Tensor& w) {
    Tensor y = w;
    y(0) = 0.0;
    return sum(y * y * w);
  };
  const Tensor x = tensor({1.0, 2.0, 3.0}, float64);
  BOOST_TEST(grad(f)(x).to_vector<double>() == Values({0, 12, 27}));
  BOOST_TEST(grad([](const Tensor& w) {
               Tensor y = w;
               {
                 const no_grad scope;
                 y(0) = 0.0;
               }
               return sum(y * w);
             })(x)
                 .to_vector<double>() == Values({0, 2, 3}));
}

BOOST_AUTO_TEST_CASE(values_beside_derivatives) {
  const Tensor x = tensor({1.0, 2.0, 3.0}, float64), t = ones({3}, float64);
  const TensorFunction cube = [](List v) { return sum(v[0] * v[0] * v[0]); };
  const Values expected{3, 12, 27};
  BOOST_TEST(grad([&](const Tensor& w) { return jvp(cube, {w}, {t}).first; })(x).to_vector<double>() ==
             expected);
  BOOST_TEST(
      grad([&](const Tensor& w) { return hessian_vector(cube, {w}, {t}).first; })(x).to_vector<double>() ==
      expected);
  BOOST_TEST(!jvp(cube, {x}, {t}).first.requires_grad());
  BOOST_TEST(!hessian_vector(cube, {x}, {t}).first.requires_grad());
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_its_argument) {
  Tensor x = tensor({{3.0}}, float64);
  x.requires_grad_();
  for (const TensorFunction& f :
       {TensorFunction([](List v) { return dropout(v[0], 0.5, false); }), TensorFunction([](List v) {
          return reshape(v[0], {1, 1});
        }),
        TensorFunction([](List v) { return v[0]; })}) {
    x.zero_grad();
    const Tensor y = checkpoint(f, {x});
    BOOST_TEST(y.requires_grad());
    sum(y * 2).backward();
    BOOST_TEST(x.grad().to_vector<double>() == Values({2}));
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(values_at_corners)

BOOST_AUTO_TEST_CASE(lgamma_of_small_negatives) {
  for (const double x : {-1e-4, -1e-8, -1e-12, -1e-16, -1e-17, -1e-25, -0.5, -1.5, -2.0000001}) {
    const double got = lgamma(tensor(x, float64)).item<double>(), expected = std::lgamma(x);
    BOOST_TEST(std::abs(got - expected) <= 1e-13 * std::abs(expected),
               x << ": " << got << ", not " << expected);
  }
}

BOOST_AUTO_TEST_CASE(draws_of_small_concentrations) {
  Generator g(1);
  for (const DType t : {float32, float64})
    for (const double a : {0.5, 0.02, 0.001}) {
      const Tensor x = beta(g, full({2000}, a, t), full({2000}, a, t)),
                   y = dirichlet(g, full({2000, 3}, a, t));
      BOOST_TEST(!any(isnan(x) | (x < 0.0) | (x > 1.0)).item<bool>());
      BOOST_TEST(std::abs(mean(x).item<double>() - 0.5) < 0.06);
      BOOST_TEST(max(abs(sum(y, {1}) - 1.0)).item<double>() < 1e-5);
      BOOST_TEST(std::abs(mean(y(_, 2)).item<double>() - 1. / 3) < 0.06);
    }
}

BOOST_AUTO_TEST_CASE(integers) {
  const Tensor l = lcm(tensor({118, 127, 100, 83, 0}, int8), tensor({15, 126, 30, -2, 0}, int8));
  BOOST_TEST(l.to_vector<int8_t>() == std::vector<int8_t>({-22, -126, 44, -90, 0}));
  BOOST_TEST((combinations(tensor({1.0, 2.0, 3.0}), 0).shape() == Shape{1, 0}));
  const Tensor x = tensor({true, false});
  BOOST_CHECK_THROW(index_put(x, {0}, tensor(true), true), DtypeError);
  BOOST_CHECK_THROW(index_put(x, {slice(0, 2)}, tensor({true, true}), true), DtypeError);
  BOOST_CHECK_THROW(index_put(x, {tensor({0})}, tensor({true}), true), DtypeError);
}

BOOST_AUTO_TEST_SUITE_END()
