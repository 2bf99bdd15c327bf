// Random numbers in functions of one sample: each sample has its row of what a draw of the batch gives, or
// all have the same ones, or it has to be said.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>

#include "lazy/batching/vmap.hpp"
#include "lazy/lazy.hpp"
#include "tests/common/fails_at.hpp"

using namespace lazy;

namespace {

constexpr VmapAxes kDifferent{.randomness = Randomness::different}, kSame{.randomness = Randomness::same};

struct Case {
  const char* name;
  std::function<Tensor(Generator&, const Shape&)> draw;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"rand", [](Generator& g, const Shape& s) { return rand(g, s); }},
      {"of float64", [](Generator& g, const Shape& s) { return rand(g, s, float64); }},
      {"randn", [](Generator& g, const Shape& s) { return randn(g, s); }},
      {"randn of bfloat16", [](Generator& g, const Shape& s) { return randn(g, s, bfloat16); }},
      {"uniform", [](Generator& g, const Shape& s) { return uniform(g, -2, 5, s); }},
      {"randint", [](Generator& g, const Shape& s) { return randint(g, 0, 1000, s); }},
      {"bits", [](Generator& g, const Shape& s) { return random_bits(g, s); }},
      {"exponential", [](Generator& g, const Shape& s) { return exponential(g, 2, s); }},
      {"bernoulli", [](Generator& g, const Shape& s) { return bernoulli(g, full(s, 0.4f)); }},
      {"dropout", [](Generator& g, const Shape& s) { return dropout(g, ones(s), 0.3); }},
      {"two draws",
       [](Generator& g, const Shape& s) {
         const Tensor first = randn(g, s);
         return first - rand(g, s);
       }},
  };
  return all;
}

Shape behind(int64_t n, const Shape& rest) {
  Shape all{n};
  for (const int64_t m : rest) all.push_back(m);
  return all;
}
bool equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && all(a == b).item<bool>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(draws_of_samples)

BOOST_AUTO_TEST_CASE(rows_of_the_batch) {
  for (const Case& c : cases())
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{4, 5}, Shape{0, 2}}) {
      Generator one(7), two(7), three(7);
      const Tensor got = vmap([&](const Tensor&) { return c.draw(one, shape); }, kDifferent)(zeros({6}));
      const Tensor want = c.draw(two, behind(6, shape));
      BOOST_TEST(equal(got, want), c.name << " of " << to_string(shape));
      const Tensor same = vmap([&](const Tensor&) { return c.draw(three, shape); }, kSame)(zeros({6}));
      Generator again(7);
      BOOST_TEST(equal(same, broadcast_to(c.draw(again, shape), behind(6, shape))), c.name);
    }
}

BOOST_AUTO_TEST_CASE(nested) {
  Generator one(3), two(3);
  const auto inner = [&](const Tensor& row) {
    return vmap([&](const Tensor& x) { return x + randn(one, {3}); }, kDifferent)(row);
  };
  BOOST_TEST(equal(vmap(inner, kDifferent)(zeros({4, 5})), randn(two, {4, 5, 3})));
  // The outer samples have the same numbers, the inner ones their own.
  Generator three(3), four(3);
  const auto mixed = [&](const Tensor& row) {
    return vmap([&](const Tensor& x) { return x + randn(three, {3}); }, kDifferent)(row);
  };
  BOOST_TEST(equal(vmap(mixed, kSame)(zeros({4, 5})), broadcast_to(randn(four, {5, 3}), {4, 5, 3})));
}

BOOST_AUTO_TEST_CASE(permutations_differ) {
  Generator g(11);
  const Tensor all = vmap([&](const Tensor&) { return permutation(g, 50); }, kDifferent)(zeros({8}));
  const Tensor ordered = sort(all, 1).values;
  BOOST_TEST(equal(ordered, broadcast_to(arange(50), {8, 50}).astype(all.dtype())));
  for (int64_t i = 1; i < 8; ++i) BOOST_TEST(!equal(Tensor(all(0)), Tensor(all(i))));
}

BOOST_AUTO_TEST_CASE(gradients_with_dropout) {
  Generator one(5), two(5);
  const Tensor x = (arange(0, 24, 1, float32) / 7).reshape(4, 6), w = (arange(0, 6, 1, float32) - 2).eval();
  const auto loss = [&](const Tensor& w, const Tensor& x) { return sum(square(dropout(one, w * x, 0.5))); };
  const Tensor each =
      vmap(grad(loss, argnums<0>), {.in_axes = {std::nullopt, 0}, .randomness = Randomness::different})(w, x);
  const Tensor kept = dropout(two, ones({4, 6}), 0.5);  // 0 or 2
  BOOST_TEST(all(abs(each - 2 * square(kept) * w * square(x)) < 1e-3f).item<bool>());
}

BOOST_AUTO_TEST_CASE(it_has_to_be_said) {
  Generator g(1);
  const auto f = [&](const Tensor& x) { return x + rand(g, {2}); };
  test::fails_at<Error>("draws.cpp", __LINE__ - 1, "rand: draws random numbers in vmap: say whether each",
                        [&] { (void)vmap(f)(zeros({3})); });
  BOOST_TEST(equal(rand(g, {2}) * 0, zeros({2})));  // the program goes on
  // Jacobians are of one draw.
  BOOST_TEST(jacfwd([&](const Tensor& x) { return x * rand(g, {2}); }, ones({2})).shape() == (Shape{2, 2}));
}

BOOST_AUTO_TEST_SUITE_END()
