// Tests gradients where they are not those of smooth functions of full tensors: extents of 0 and 1, ties and
// kinks (torch's choices), numbers that overflow, 16-bit floats, integers.
#include <limits>

#include "tests/lazy/autograd/gradient_check.hpp"

using namespace lazy;
using check::random_values;
using check::two_orders;
using List = const std::vector<Tensor>&;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Values = std::vector<double>;

/// Returns the gradient of sum(f(x)).
Values slopes(Tensor (*f)(const Tensor&), const Values& x) {
  return grad([&](const Tensor& t) { return sum(f(t)); })(asarray(x)).to_vector<double>();
}
void slopes_are(const char* what, Tensor (*f)(const Tensor&), const Values& x, const Values& expected) {
  const Values got = slopes(f, x);
  for (size_t i = 0; i < x.size(); ++i)
    BOOST_TEST(std::abs(got[i] - expected[i]) <= 1e-12 * std::max(1.0, std::abs(expected[i])),
               what << " at " << x[i] << " has slope " << got[i] << ", not " << expected[i]);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(autograd_edges)

BOOST_AUTO_TEST_CASE(extents) {
  std::mt19937 g(21);
  for (const Shape& s : {Shape{0, 3}, Shape{1, 1}, Shape{3, 0}, Shape{1, 7}, Shape{13, 1}, Shape{7, 5}}) {
    const Tensor x = random_values(g, s, 0.3, 2), w = random_values(g, {s[1], 3}, -1, 1);
    two_orders("sum", [](List x) { return sum(sin(x[0]), {0, 1}, keepdims); }, {x});
    two_orders("mean", [](List x) { return square(mean(x[0] * x[0], {0})); },
               {s[0] ? x : ones({1, 3}, float64)});
    two_orders("prod", [](List x) { return prod(x[0], {0}); }, {x});
    two_orders("cumsum backwards", [](List x) { return sin(flip(cumsum(flip(x[0], 1), 1), 1)); }, {x});
    two_orders("cumprod", [](List x) { return cumprod(x[0], 0); }, {x});
    two_orders("logcumsumexp", [](List x) { return logcumsumexp(x[0], 1); }, {x});
    two_orders("matmul", [](List x) { return matmul(x[0], x[1]); }, {x, w});
    two_orders("outer", [](List x) { return x[0] * expand_dims(x[0], 0); }, {x});
    two_orders("flipped", [](List x) { return x[0](slice(none, none, -1), slice(none, none, -2)) * 2.0; },
               {x});
    two_orders("joined", [](List x) { return sin(concat({x[0], x[0]}, 1)); }, {x});
    two_orders("norm", [](List x) { return vector_norm(x[0], 2, {1}); }, {x});
    two_orders("var", [](List x) { return var(x[0], {1}, dropdims, 0); }, {s[1] ? x : ones({3, 1}, float64)});
  }
}

BOOST_AUTO_TEST_CASE(broadcasts_and_views) {
  std::mt19937 g(22);
  const Tensor x = random_values(g, {5, 1, 7}, 0.3, 2), y = random_values(g, {3, 1}, 0.3, 2),
               z = random_values(g, {}, 1, 2);
  two_orders("three shapes", [](List x) { return where(x[0] > x[1], x[0] * x[2], pow(x[1], x[2])) / x[0]; },
             {x, y, z});
  two_orders(
      "a view of a broadcast",
      [](List x) {
        return sin(broadcast_to(x[0], {3, 4})(slice(none, none, -2), slice(1, none, 2)).T()) * x[0](0, 0);
      },
      {y});
  two_orders("negative indices",
             [](List x) { return x[0](-1, 0, slice(-1, -6, -3)) * x[0](-5, 0, slice(none, 2)); }, {x});
  two_orders("a reshape of a permutation",
             [](List x) {
               return square(reshape(permute_dims(x[0], {2, 0, 1}), {5, 7}));
             },
             {x});
}

BOOST_AUTO_TEST_CASE(several_axes_and_ties) {
  std::mt19937 g(23);
  const Tensor x = random_values(g, {2, 3, 4}, 0.5, 2);
  for (const Axes& a : {Axes{0, 2}, Axes{1, -1}, Axes{0, 1, 2}}) {
    two_orders("sum", [&](List x) { return sin(sum(x[0], a)); }, {x});
    two_orders("prod", [&](List x) { return prod(x[0], a); }, {x});
    two_orders("max", [&](List x) { return max(sin(x[0] * 3.0), a, keepdims) * x[0]; }, {x});
    two_orders("var", [&](List x) { return var(x[0], a); }, {x});
    two_orders("std", [&](List x) { return lazy::std(x[0], a); }, {x});
    two_orders("logsumexp", [&](List x) { return logsumexp(x[0], a); }, {x});
    two_orders("norm of order 3", [&](List x) { return vector_norm(x[0], 3, a); }, {x});
  }
  // Equal largest elements share equally, whatever line they are in.
  const Tensor tied = reshape(asarray(Values{1, 2, 2, 0, 2, 1}), {2, 3});
  check::close(grad([](const Tensor& t) { return max(t); })(tied), {0, 1. / 3, 1. / 3, 0, 1. / 3, 0}, 1e-15);
  check::close(grad([](const Tensor& t) { return sum(max(t, {1})); })(tied), {0, .5, .5, 0, 1, 0}, 1e-15);
  const Tensor same = asarray(Values{1, 2, 3});
  check::close(grad([&](const Tensor& t) { return sum(maximum(t, same) * 2.0); })(same), {1, 1, 1}, 1e-15);
  // Equal elements of a running maximum: the last has it.
  check::close(grad([](const Tensor& t) { return sum(cummax(t, 0).values); })(asarray(Values{2, 1, 2, 3})),
               {2, 0, 1, 1}, 1e-15);
}

BOOST_AUTO_TEST_CASE(kinks) {
  slopes_are("abs", [](const Tensor& x) { return abs(x); }, {-1, 0, 1}, {-1, 0, 1});
  slopes_are("relu", [](const Tensor& x) { return relu(x); }, {-1, 0, -0., 1}, {0, 0, 0, 1});
  slopes_are("clip", [](const Tensor& x) { return clip(x, -1, 1); }, {-2, -1, 0, 1, 2}, {0, 0, 1, 0, 0});
  slopes_are("clip below", [](const Tensor& x) { return clip(x, none, 1); }, {-2, 1, 2}, {1, 0, 0});
  slopes_are("hardtanh", [](const Tensor& x) { return hardtanh(x); }, {-1, 0, 1}, {0, 1, 0});
  slopes_are("relu6", [](const Tensor& x) { return relu6(x); }, {0, 3, 6}, {0, 1, 0});
  slopes_are("elu", [](const Tensor& x) { return elu(x, 0.5); }, {0, 1000}, {0.5, 1});
  slopes_are("celu", [](const Tensor& x) { return celu(x, 0.5); }, {0, 1000}, {1, 1});
  slopes_are("softplus", [](const Tensor& x) { return softplus(x); }, {0, 1000}, {0.5, 1});
  slopes_are("mish", [](const Tensor& x) { return mish(x); }, {0, 1000}, {0.6, 1});
  slopes_are("frac", [](const Tensor& x) { return frac(x); }, {0, 2, 2.5}, {1, 1, 1});
  slopes_are("xlogy", [](const Tensor& x) { return xlogy(x, 2.0); }, {0, 1}, {std::log(2), std::log(2)});
  slopes_are("i0", [](const Tensor& x) { return i0(x); }, {0}, {0});
  slopes_are("i1", [](const Tensor& x) { return i1(x); }, {0}, {0.5});
  constexpr double euler = 0.57721566490153286;
  slopes_are("lgamma", [](const Tensor& x) { return lgamma(x); }, {1, 2}, {-euler, 1 - euler});
  slopes_are("digamma", [](const Tensor& x) { return digamma(x); }, {1},
             {std::acos(-1.) * std::acos(-1.) / 6});
  slopes_are("norm of zeros", [](const Tensor& x) { return vector_norm(x); }, {0, 0}, {0, 0});
  slopes_are("norm of order 3", [](const Tensor& x) { return vector_norm(x, 3); }, {0, 0}, {0, 0});
  slopes_are("std of equal ones", [](const Tensor& x) { return lazy::std(x); }, {3, 3, 3}, {0, 0, 0});
  slopes_are("logsumexp of nothing", [](const Tensor& x) { return logsumexp(x); }, {-kInfinity, -kInfinity},
             {0, 0});
  slopes_are("logaddexp", [](const Tensor& x) { return logaddexp(x, -kInfinity); }, {-kInfinity, 1},
             {0.5, 1});
  slopes_are("pow", [](const Tensor& x) { return pow(x, 0); }, {0, 2}, {0, 0});
  slopes_are("prod", [](const Tensor& x) { return prod(x); }, {0, 2, 3}, {6, 0, 0});
  slopes_are("floor", [](const Tensor& x) { return floor(x) + trunc(x) + sign(x) + round(x); }, {0.3, -2.2},
             {0, 0});
}

BOOST_AUTO_TEST_CASE(dtypes) {
  for (const DType t : {float16, bfloat16, float32, float64}) {
    const Tensor x = asarray(Values{0.5, 1, 2}).astype(t);
    const Tensor g =
        grad([](const Tensor& x) { return sum(exp(x) * 2 + x.astype(float64).astype(float32)); })(x);
    BOOST_TEST((g.dtype() == t));
    check::close(g.astype(float64), {2 * std::exp(0.5) + 1, 2 * std::exp(1) + 1, 2 * std::exp(2) + 1}, 0.01);
    for (const TensorFunction& f :
         {TensorFunction([](List x) { return logsumexp(x[0]); }),
          TensorFunction([](List x) { return var(x[0]); }),
          TensorFunction([](List x) { return vector_norm(x[0]); }),
          TensorFunction([](List x) { return lgamma(x[0]); }), TensorFunction([](List x) {
            return max(reshape(x[0], {1, 3}), {0, 1});
          })}) {
      const Pullback p = vjp(f, {x});
      BOOST_TEST((p(ones(p.value.shape(), t))[0].dtype() == t));
    }
  }
  // Nothing goes through integers and bools.
  const auto through = [](const Tensor& x) {
    return sum(x.astype(int64).astype(float64) + (x > 0).astype(float64));
  };
  check::close(grad(through)(asarray(Values{0.5, 1.5})), {0, 0}, 0);
  BOOST_CHECK_THROW(grad([](const Tensor& x) { return sum(x.astype(int64)); })(ones({2})), DtypeError);
  BOOST_CHECK_THROW(grad([](const Tensor& x) { return sum(x * 1.0); })(ones({2}, int64)), DtypeError);
  // A gradient of another dtype beside it.
  const auto [a, b] = grad([](const Tensor& x, const Tensor& y) { return sum(x * y); })(ones({2}, float32),
                                                                                        ones({2}, float64));
  BOOST_TEST((a.dtype() == float32 && b.dtype() == float64));
}

BOOST_AUTO_TEST_SUITE_END()
