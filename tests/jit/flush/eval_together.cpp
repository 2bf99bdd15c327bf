// Tests that values which are asked for together are computed by one flush, though nothing connects them.
#include <random>
#include <thread>

#include "jit/graph/node.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::numbers;
using fresh::Override;

namespace {

using Floats = std::vector<float>;

/// Returns how many flushes f needs.
template <class F>
uint64_t flushes_of(F&& f) {
  const uint64_t before = metrics().flushes;
  f();
  return metrics().flushes - before;
}

bool ready(const Tensor& x) { return x.handle()->ready(); }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(eval_together, fresh::Fixture)

BOOST_AUTO_TEST_CASE(one_flush_and_one_program) {
  const Tensor x = numbers({6}), y = numbers({2, 3});
  for (int i = 0; i < 3; ++i) {
    const Tensor a = x * 2, b = sum(x), c = y + i;
    jit::FlushListener listener;
    eval(a, b, c);
    BOOST_REQUIRE_EQUAL(listener.flushes.size(), 1u);
    BOOST_TEST(listener.flushes[0].outputs == 3u);
    BOOST_TEST(listener.flushes[0].hit == (i > 0));
    BOOST_TEST((ready(a) && ready(b) && ready(c)));
    BOOST_TEST((a.to_vector<float>() == Floats{2, 4, 6, 8, 10, 12}));
    BOOST_TEST(b.item<float>() == 21);
    BOOST_TEST(c.to_vector<float>()[5] == static_cast<float>(6 + i));
  }
}

BOOST_AUTO_TEST_CASE(statistics_of_one_value) {
  const Tensor x = numbers({100});
  const Tensor m = mean(x), s = stdev(x);
  BOOST_TEST(flushes_of([&] { eval(m, s); }) == 1u);
  BOOST_TEST(m.item<float>() == 50.5f);
}

BOOST_AUTO_TEST_CASE(ready_and_pending_and_the_same_twice) {
  const Tensor x = numbers({4});
  const Tensor a = x + 1, b = x + 2, part = x(slice(1, 3));
  a.eval();
  BOOST_TEST(flushes_of([&] { eval(a, x, b, b, part, a); }) == 1u);
  BOOST_TEST((b.to_vector<float>() == Floats{3, 4, 5, 6}));
  BOOST_TEST(flushes_of([&] { eval(a, x, b, b, part); }) == 0u);
}

BOOST_AUTO_TEST_CASE(one_after_the_other_stay_apart) {
  const Tensor x = numbers({4});
  const Tensor a = x + 1, b = x + 2;
  BOOST_TEST(flushes_of([&] { a.eval(); }) == 1u);
  BOOST_TEST(!ready(b));
}

/// An index out of range is found while the program runs: what does not depend on it has its value.
BOOST_AUTO_TEST_CASE(an_index_out_of_range_beside_good_values) {
  const Tensor x = numbers({4});
  const Tensor good = x + 1, bad = take(x, tensor({7}), 0), late = x + 3;
  BOOST_CHECK_THROW(eval(good, bad, late), IndexError);
  BOOST_TEST(ready(good));
  BOOST_TEST(!ready(bad));
  BOOST_TEST((late.to_vector<float>() == Floats{4, 5, 6, 7}));
  BOOST_CHECK_THROW(bad.eval(), IndexError);
  const Tensor other = x + 5, worse = take(x, tensor({-9}), 0);
  BOOST_CHECK_THROW(eval(worse, other), IndexError);
  BOOST_TEST((other.to_vector<float>() == Floats{6, 7, 8, 9}));
  BOOST_CHECK_THROW(worse.eval(), IndexError);
}

/// A call that fails ends the flush; values that do not depend on it are none of its graph afterwards.
BOOST_AUTO_TEST_CASE(a_failing_call_beside_good_values) {
  const Tensor x = numbers({2, 2}), indefinite = (tensor({{1.0, 2.0}, {2.0, 1.0}}) + 0).eval();
  const Tensor good = x + 1, bad = sort(x).values + cholesky(indefinite), also = sum(good * 2);
  for (int i = 0; i < 2; ++i) BOOST_CHECK_THROW(eval(good, bad), Error);
  BOOST_TEST((good.to_vector<float>() == Floats{2, 3, 4, 5}));
  BOOST_CHECK_THROW(bad.eval(), Error);
  BOOST_TEST(also.item<float>() == 28);
}

BOOST_AUTO_TEST_CASE(a_failing_compile_leaves_all_pending) {
  auto& probe = fresh::Probe::instance();
  const Tensor x = numbers({4});
  const Tensor a = x + 1, b = sum(x * 3);
  {
    const fresh::Probe::Hooks hooks;
    probe.on_compile = [](auto&) { throw std::bad_alloc(); };
    BOOST_CHECK_THROW(eval(a, b), std::exception);
  }
  BOOST_TEST((!ready(a) && !ready(b)));
  BOOST_TEST(flushes_of([&] { b.eval(); }) == 1u);
  BOOST_TEST(!ready(a));  // each is in a graph of its own again
  BOOST_TEST((a.to_vector<float>() == Floats{2, 3, 4, 5}));
  BOOST_TEST(b.item<float>() == 30);
}

BOOST_AUTO_TEST_CASE(eager_leaves_nothing_to_do) {
  const Tensor x = numbers({4});
  const Override eager("LAZY_EAGER", "1");
  const Tensor a = x + 1, b = x + 2;
  BOOST_TEST(flushes_of([&] { eval(a, b); }) == 0u);
}

BOOST_AUTO_TEST_CASE(values_of_another_thread_take_a_flush_there) {
  const Tensor x = numbers({4});
  Tensor there, here = x + 1;
  std::thread([&] { there = x * 3; }).join();
  BOOST_TEST(flushes_of([&] { eval(here, there); }) == 2u);
  BOOST_TEST((there.to_vector<float>() == Floats{3, 6, 9, 12}));
}

BOOST_AUTO_TEST_CASE(no_more_nodes_than_a_graph_may_have) {
  const Tensor x = numbers({4});
  std::vector<Tensor> sums;
  for (int i = 0; i < 5; ++i) sums.push_back(sqrt(x + i) * 2);
  const Override limit("LAZY_MAX_GRAPH", "8");
  // A component has three nodes and a constant each for the numbers, which are none.
  BOOST_TEST(flushes_of([&] { eval(sums); }) == 3u);
  for (int i = 0; i < 5; ++i)
    BOOST_TEST(sums[static_cast<size_t>(i)].to_vector<float>()[0] == 2 * std::sqrt(1.f + i));
}

BOOST_AUTO_TEST_CASE(thousands) {
  const Tensor x = numbers({3});
  std::vector<Tensor> list;
  for (int i = 0; i < 5000; ++i) list.push_back(x + i);
  const uint64_t flushes = flushes_of([&] { eval(list); });
  BOOST_TEST(flushes <= 3u);
  for (size_t i = 0; i < list.size(); ++i)
    BOOST_REQUIRE(list[i].to_vector<float>()[2] == static_cast<float>(i + 3));
}

/// A program whose values are too large together is cut in two, and its halves are not joined again.
BOOST_AUTO_TEST_CASE(too_large_together) {
  const Tensor x = numbers({64, 64});
  std::vector<Tensor> list;
  for (int i = 0; i < 40; ++i) {
    const Tensor t = matmul(x, x + i);
    list.push_back(matmul(t, softmax(t, -1)));
  }
  const Override limit("LAZY_MAX_BYTES", "40000");
  eval(list);
  for (const Tensor& t : list) BOOST_TEST(ready(t));
  const Tensor t = matmul(x, x + 39);
  BOOST_TEST((list[39].to_vector<float>() == matmul(t, softmax(t, -1)).to_vector<float>()));
}

BOOST_AUTO_TEST_CASE(random_forests_have_the_bits_of_each_alone) {
  const unsigned seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return random() % n; };
  for (int round = 0; round < 40; ++round) {
    const std::vector<Tensor> given{numbers({3, 5}), numbers({3, 1}) * 0.5, numbers({5}).eval(),
                                    numbers({0, 5})};
    const unsigned forest = random();
    const auto made = [&] {
      std::mt19937 same(forest);
      std::vector<Tensor> all;
      for (int i = 0; i < 12; ++i) {
        const auto pick = [&]() -> Tensor {
          const size_t k = same() % (all.size() + 3);
          return k < all.size() ? all[k] : given[k - all.size()];
        };
        const Tensor a = pick();
        switch (same() % 5) {
          case 0: all.push_back(sin(a) * 1.5); break;
          case 1: all.push_back(a.ndim() > 0 ? Tensor(sum(a, -1, keepdims)) : a + 1); break;
          case 2: all.push_back(a.ndim() == 0 ? exp(-a) : cumsum(a, -1)); break;
          case 3: all.push_back(a * given[3].size() + pick() * 0.25); break;
          default: all.push_back(a.ndim() > 0 ? sort(a).values : a); break;
        }
      }
      return all;
    };
    const std::vector<Tensor> together = made(), apart = made();
    std::vector<Tensor> asked;
    for (const Tensor& t : together)
      if (below(2)) asked.push_back(t);
    eval(asked);
    for (size_t i = 0; i < apart.size(); ++i)
      BOOST_TEST((together[i].to_vector<float>() == apart[i].eval().to_vector<float>()),
                 "seed " << seed << ", round " << round << ", value " << i);
  }
}

BOOST_AUTO_TEST_SUITE_END()
