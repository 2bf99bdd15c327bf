// Tests that functions which give their argument back as it is give a value of its own where gradients could
// tell: in a no_grad it depends on nothing, marking it marks no other, and a hook on it is called for it
// alone.
#include <functional>

#include "lazy/nn/nn.hpp"
#include "tests/common/check.hpp"

using namespace lazy;

namespace {

struct Given {
  const char* name;
  Shape shape;
  std::function<Tensor(const Tensor&)> f;
};
#define ROW(shape, ...)                                                              \
  {                                                                                  \
#__VA_ARGS__, Shape shape, [](const Tensor& x) -> Tensor { return __VA_ARGS__; } \
  }

const std::vector<Given>& rows() {
  static const std::vector<Given> all{
      ROW(({2, 3}), reshape(x, {2, 3})),
      ROW(({2, 3}), x.view({2, 3})),
      ROW(({2, 3}), permute_dims(x, {0, 1})),
      ROW(({3}), transpose(x)),
      ROW(({3}), x.T()),
      ROW(({3}), x.t()),
      ROW(({2, 3}), swapaxes(x, 0, 0)),
      ROW(({2, 3}), moveaxis(x, 0, 0)),
      ROW(({3}), flatten(x)),
      ROW(({3}), ravel(x)),
      ROW(({2, 3}), flatten(x, 0, 0)),
      ROW(({2, 3}), squeeze(x)),
      ROW(({2, 3}), broadcast_to(x, {2, 3})),
      ROW(({2, 3}), x.expand({2, 3})),
      ROW(({2, 3}), expand_as(x, ones({2, 3}))),
      ROW(({2, 3}), broadcast_arrays({x, ones({3})})[0]),
      ROW(({2, 3}), astype(x, float32)),
      ROW(({2, 3}), x.to(float32)),
      ROW(({2, 3}), asarray(x)),
      ROW(({2, 3}), x.copy()),
      ROW(({2, 3}), x.clone()),
      ROW(({1, 3}), sum(x, 0, keepdims)),
      ROW(({1, 3}), max(x, 0, keepdims)),
      ROW(({1, 3}), min(x, 0, keepdims)),
      ROW(({1, 3}), amax(x, 0, keepdims)),
      ROW(({1, 3}), prod(x, 0, keepdims)),
      ROW(({}), sum(x)),
      ROW(({1, 3}), cumsum(x, 0)),
      ROW(({1, 3}), cumprod(x, 0)),
      ROW(({1, 3}), cummax(x, 0).values),
      ROW(({1, 3}), cummin(x, 0).values),
      ROW(({1, 3}), cumulative_sum(x, 0)),
      ROW(({1, 3}), cumulative_prod(x, 0)),
      ROW(({1, 3}), logcumsumexp(x, 0)),
      ROW(({1, 3}), flip(x, 0)),
      ROW(({1, 3}), flipud(x)),
      ROW(({3, 1}), fliplr(x)),
      ROW(({2, 3}), roll(x, 0, 0)),
      ROW(({2, 3}), roll(x, 3, 1)),
      ROW(({3}), roll(x, 0)),
      ROW(({2, 3}), rot90(x, 0)),
      ROW(({2, 3}), tile(x, {1, 1})),
      ROW(({2, 3}), repeat(x, 1, 0)),
      ROW(({3}), repeat(x, 1)),
      ROW(({2, 3}), narrow(x, 0, 0, 2)),
      ROW(({2, 3}), concat({x}, 0)),
      ROW(({3}), concat({x}, none)),
      ROW(({2, 3}), hstack({x})),
      ROW(({2, 3}), vstack({x})),
      ROW(({2, 3}), column_stack({x})),
      ROW(({2, 3}), split(x, 1, 0)[0]),
      ROW(({2, 3}), split(x, std::vector<int64_t>{}, 0)[0]),
      ROW(({2, 3}), array_split(x, 1, 0)[0]),
      ROW(({2, 3}), chunk(x, 1, 0)[0]),
      ROW(({2, 3}), atleast_1d(x)),
      ROW(({2, 3}), atleast_2d(x)),
      ROW(({1, 1, 3}), atleast_3d(x)),
      ROW(({2, 3}), unflatten(x, 1, {3})),
      ROW(({2, 3}), diff(x, 0)),
      ROW(({2, 3}), positive(x)),
      ROW(({2, 3}), +x),
      ROW(({2, 3}), pad(x, {0, 0})),
      ROW(({1, 1, 2, 2}), nn::ZeroPad2d(0)(x)),
      ROW(({2, 3}), x(_)),
      ROW(({2, 3}), x(ellipsis)),
      ROW(({2, 3}), x(slice(0, 2))),
      ROW(({2, 3}), x[_]),
      ROW(({2, 3}), x(std::span<const Index>{})),
      ROW(({2, 2}), matrix_power(x, 1)),
      ROW(({2, 3}), dropout(x, 0.0)),
      ROW(({2, 3}), dropout(x, 0.5, false)),
      ROW(({2, 3}), alpha_dropout(x, 0.0)),
      ROW(({1, 2, 3}), feature_dropout(x, 0.0)),
      ROW(({2, 3}), einsum("ij->ij", {x})),
      ROW(({2, 3}), nn::Flatten()(x)),
  };
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(autograd_given_back)

BOOST_AUTO_TEST_CASE(without_gradients) {
  for (const Given& g : rows()) BOOST_TEST_CONTEXT(g.name) {
      Tensor x = full(g.shape, 3.0, float32), kept;
      x.requires_grad_();
      {
        const no_grad scope;
        kept = g.f(x);
      }
      BOOST_TEST(!kept.requires_grad());
      BOOST_TEST(x.requires_grad());
      sum(x * kept.reshape(g.shape)).backward();
      BOOST_TEST(allclose(x.grad(), full(g.shape, 3.0)).item<bool>());
      kept.requires_grad_();  // marks no other
      BOOST_TEST(x.requires_grad());
    }
}

BOOST_AUTO_TEST_CASE(a_hook_is_the_value_s) {
  for (const Given& g : rows()) BOOST_TEST_CONTEXT(g.name) {
      Tensor p = full(g.shape, 3.0, float32);
      p.requires_grad_();
      const Tensor h = p * 1.5;
      {
        const Tensor r = g.f(h);
        register_hook(r, [](const Tensor& gradient) { return gradient * 10; });
        sum(h).backward({}, true);  // r is read by nobody
        BOOST_TEST(allclose(p.grad(), full(g.shape, 1.5)).item<bool>());
        p.zero_grad();
        sum(r).backward();
        BOOST_TEST(allclose(p.grad(), full(g.shape, 15.0)).item<bool>());
      }
    }
}

// Values and gradients go through as they did.
BOOST_AUTO_TEST_CASE(with_gradients) {
  for (const Given& g : rows()) BOOST_TEST_CONTEXT(g.name) {
      Tensor x = full(g.shape, 3.0, float32);
      x.requires_grad_();
      const Tensor y = g.f(x);
      BOOST_TEST(y.requires_grad());
      sum(y * 2).backward();
      BOOST_TEST(allclose(x.grad(), full(g.shape, 2.0)).item<bool>());
      BOOST_TEST(allclose(y.reshape(g.shape), full(g.shape, 3.0)).item<bool>());
    }
}

BOOST_AUTO_TEST_SUITE_END()
