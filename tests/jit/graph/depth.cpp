// Tests graphs that are deep, large or shared in ways that a recursive or naive walk would not survive.
#include "jit/graph/node.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::numbers;
using fresh::Override;

BOOST_FIXTURE_TEST_SUITE(depth, fresh::Fixture)

BOOST_AUTO_TEST_CASE(a_million_ops_under_the_default_limits) {
  Tensor x = numbers({4}, float64);
  x = x * 0;
  for (int i = 0; i < 1'000'000; ++i) x = x + 1;
  BOOST_TEST(x.to_vector<double>() == std::vector<double>(4, 1e6), boost::test_tools::per_element());
  BOOST_TEST(metrics().flushes_by_cause[static_cast<size_t>(jit::Cause::node_limit)] >= 50u);
  BOOST_TEST(metrics().program_misses <= 6u);  // the cuts fall on the same place again
}

BOOST_AUTO_TEST_CASE(a_million_pending_ops_die_without_recursion) {
  const Override limit("LAZY_MAX_GRAPH", "1000000000");
  const Tensor start = numbers({4});
  const uint64_t flushes = metrics().flushes;
  {
    Tensor x = start;
    for (int i = 0; i < 1'000'000; ++i) x = x + start;
  }
  BOOST_TEST(metrics().flushes == flushes);
}

BOOST_AUTO_TEST_CASE(one_flush_of_60000_ops) {
  const Override limit("LAZY_MAX_GRAPH", "1000000000");
  Tensor x = zeros({4}, float64);
  const Tensor one = ones({4}, float64).copy();
  one.eval();
  for (int i = 0; i < 60'000; ++i) x = x + one;
  jit::FlushListener listener;
  BOOST_TEST(x.to_vector<double>() == std::vector<double>(4, 60000), boost::test_tools::per_element());
  BOOST_REQUIRE_EQUAL(listener.flushes.size(), 1u);
  BOOST_TEST(listener.flushes[0].kernels < 100u);
}

BOOST_AUTO_TEST_CASE(sharing_does_not_multiply_work) {
  Tensor x = full({4}, 1.0, float64);
  for (int i = 0; i < 500; ++i) x = x + flip(x);
  jit::FlushListener listener;
  BOOST_TEST(x.to_vector<double>() == std::vector<double>(4, 0x1p500), boost::test_tools::per_element());
  BOOST_REQUIRE_EQUAL(listener.flushes.size(), 1u);
  BOOST_TEST(listener.flushes[0].fused_ops < 5000u);
}

BOOST_AUTO_TEST_CASE(sharing_through_broadcasts_and_reductions) {
  Tensor x = full({6, 6}, 0.5, float64);
  double expected = 0.5;
  for (int i = 0; i < 60; ++i) {
    x = (x - mean(x, {1}, keepdims)) + sum(x, {0}) / 6.0 * 1.5;
    expected = expected * 1.5;
  }
  jit::FlushListener listener;
  const std::vector<double> v = x.to_vector<double>();
  for (double d : v) BOOST_TEST(std::abs(d - expected) < 1e-9 * expected);
  BOOST_TEST(listener.flushes[0].fused_ops < 2000u);
}

BOOST_AUTO_TEST_CASE(doubling_by_adding_to_itself) {
  Tensor x = numbers({3}, float64);
  for (int i = 0; i < 200; ++i) x = x + x;
  BOOST_TEST(x.to_vector<double>()[2] == 3 * 0x1p200);
}

BOOST_AUTO_TEST_CASE(five_thousand_values_kept_by_one_flush) {
  const Tensor x = numbers({3});
  const Tensor base = x * 2;
  std::vector<Tensor> all;
  for (int i = 0; i < 5000; ++i) all.push_back(base + i);
  jit::FlushListener listener;
  all[17].eval();
  BOOST_REQUIRE_EQUAL(listener.flushes.size(), 1u);
  BOOST_TEST(listener.flushes[0].outputs == 5001u);
  bool right = true;
  for (int i = 0; i < 5000; ++i) {
    right = right && all[static_cast<size_t>(i)].handle()->ready();
    right = right && all[static_cast<size_t>(i)].to_vector<float>()[1] == static_cast<float>(4 + i);
  }
  BOOST_TEST(right);
  BOOST_TEST(listener.flushes.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_sum_of_five_hundred_tensors) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < 500; ++i) inputs.push_back(full({7}, i, float64).copy());
  for (const Tensor& t : inputs) t.eval();
  Tensor total = inputs[0];
  for (int i = 1; i < 500; ++i) total = total + inputs[static_cast<size_t>(i)];
  BOOST_TEST(total.to_vector<double>() == std::vector<double>(7, 124750), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_balanced_tree_of_views) {
  std::vector<Tensor> level;
  for (int i = 0; i < 256; ++i) level.push_back(numbers({2, 8}, float64) * i);
  while (level.size() > 1) {
    std::vector<Tensor> next;
    for (size_t i = 0; i < level.size(); i += 2)
      next.push_back(flip(level[i], {1}) + reshape(permute(level[i + 1], {1, 0}), {2, 8}));
    level = std::move(next);
  }
  const std::vector<double> fused = level[0].to_vector<double>();
  double total = 0;
  for (double d : fused) total += d;
  BOOST_TEST(total == 136.0 * 255 * 256 / 2);  // both views only move elements
}

BOOST_AUTO_TEST_SUITE_END()
