// Tests gradients by some of a function's arguments, and by structures of tensors.
#include <map>
#include <optional>

#include "tests/lazy/autograd/gradient_check.hpp"

using namespace lazy;

namespace {

/// Is a structure that lists its tensors.
struct Layer {
  Tensor w, b;
  std::optional<Tensor> scale;
  const char* name = "layer";
  auto fields() { return std::tie(w, b, scale); }
};

Tensor apply(const Layer& l, const Tensor& x) {
  const Tensor y = matmul(x, l.w) + l.b;
  return l.scale ? y * *l.scale : y;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(autograd_structures)

BOOST_AUTO_TEST_CASE(chosen_arguments) {
  const Tensor x = tensor({1.0, 2.0, 3.0}), y = tensor({4.0, 5.0, 6.0});
  const auto f = [](const Tensor& a, const std::string& how, const Tensor& b) {
    return how == "times" ? sum(a * b * b) : sum(a + b);
  };
  const Tensor by_last = grad(f, argnums<2>)(x, "times", y);
  check::equal(by_last, float32, {3}, {8, 20, 36});
  const auto [value, g] = value_and_grad(f, argnums<0, 2>)(x, std::string("times"), y);
  BOOST_TEST(value.item<double>() == 174.0);
  check::equal(g[0], float32, {3}, {16, 25, 36});
  check::equal(g[1], float32, {3}, {8, 20, 36});
  // In the order that was asked for, and beside integers, which have no gradients.
  const auto picked = [](const Tensor& i, const Tensor& a, const Tensor& b) { return sum(take(a, i) * b); };
  const auto [by_b, by_a] = grad(picked, argnums<2, 1>)(tensor({2, 0, 2}), x, y);
  check::equal(by_b, float32, {3}, {3, 1, 3});
  check::equal(by_a, float32, {3}, {5, 0, 10});
  BOOST_CHECK_THROW(grad(picked)(tensor({2, 0, 2}), x, y), DtypeError);
}

BOOST_AUTO_TEST_CASE(containers) {
  const Tensor x = tensor({1.0, 2.0}), y = tensor({3.0, 4.0});
  const auto list = [](const std::vector<Tensor>& a) { return sum(a[0] * a[1]); };
  const std::vector<Tensor> g = grad(list)(std::vector<Tensor>{x, y});
  check::equal(g[0], float32, {2}, {3, 4});
  check::equal(g[1], float32, {2}, {1, 2});
  using Named = std::map<std::string, std::pair<Tensor, std::array<Tensor, 1>>>;
  const auto named = [](const Named& a) { return sum(a.at("p").first * a.at("q").second[0]); };
  const Named of{{"p", {x, {x}}}, {"q", {y, {y}}}};
  const Named h = grad(named)(of);
  check::equal(h.at("p").first, float32, {2}, {3, 4});
  check::equal(h.at("p").second[0], float32, {2}, {0, 0});
  check::equal(h.at("q").second[0], float32, {2}, {1, 2});
}

BOOST_AUTO_TEST_CASE(structs) {
  const Tensor x = tensor({1.0, 2.0}).reshape({1, 2});
  Layer layer{tensor({1.0, 2.0, 3.0, 4.0}).reshape({2, 2}), tensor({0.5, -0.5}), std::nullopt};
  const auto f = [](const Layer& l, const Tensor& at) { return sum(apply(l, at)); };
  const auto [value, g] = value_and_grad(f)(layer, x);  // a tuple: the first is no tensor
  BOOST_TEST(value.item<double>() == 17.0);
  check::equal(std::get<0>(g).w, float32, {2, 2}, {1, 1, 2, 2});
  check::equal(std::get<0>(g).b, float32, {2}, {1, 1});
  BOOST_TEST(!std::get<0>(g).scale.has_value());
  check::equal(std::get<1>(g), float32, {1, 2}, {3, 7});
  layer.scale = tensor(2.0);
  const Layer scaled = grad(f, argnums<0>)(layer, x);
  check::equal(scaled.b, float32, {2}, {2, 2});
  check::equal(*scaled.scale, float32, {}, {17});
  BOOST_TEST(scaled.name == "layer");
  layer.b = Tensor();  // an undefined tensor stays one
  const auto without = [&](const Layer& l) { return sum(matmul(x, l.w)); };
  BOOST_TEST(!grad(without)(layer).b.defined());
}

BOOST_AUTO_TEST_CASE(pullbacks_and_directions) {
  const Layer layer{tensor({1.0, 2.0, 3.0, 4.0}).reshape({2, 2}), tensor({0.5, -0.5}), std::nullopt};
  const Tensor x = tensor({1.0, 2.0}).reshape({1, 2});
  const auto f = [&](const Layer& l) { return square(apply(l, x)); };
  const auto p = vjp(f, layer);
  check::equal(p.value, float32, {1, 2}, {56.25, 90.25});
  const Layer g = p(ones({1, 2}));
  check::equal(g.b, float32, {2}, {15, 19});
  Layer along = layer;
  along.w = zeros({2, 2}), along.b = tensor({1.0, 0.0});
  const auto [value, tangent] = jvp(f, layer, along);
  check::equal(tangent, float32, {1, 2}, {15, 0});
  const auto loss = [&](const Layer& l) { return sum(f(l)); };
  const Layer product = hessian_vector(loss, layer, along).second;
  check::equal(product.b, float32, {2}, {2, 0});
  check::equal(product.w, float32, {2, 2}, {2, 0, 4, 0});
  // The plain forms, of a list and of one tensor.
  check::equal(jvp([](const Tensor& a) { return a * a; }, tensor(3.0), tensor(1.0)).second, float32, {}, {6});
  BOOST_CHECK_THROW(jvp(f, layer, Layer{x, x, std::nullopt}), ShapeError);
}

BOOST_AUTO_TEST_SUITE_END()
