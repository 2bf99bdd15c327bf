// Tests what a flush computes, stores and leaves pending.
#include "jit/graph/node.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::numbers;

namespace {
bool ready(const Tensor& t) { return t.handle()->ready(); }
}  // namespace

BOOST_FIXTURE_TEST_SUITE(liveness, fresh::Fixture)

BOOST_AUTO_TEST_CASE(a_kept_value_is_never_computed_twice) {
  const Tensor x = numbers({100});
  const Tensor a = exp(x * 0.01), b = a * 2;
  b.eval();
  BOOST_TEST(ready(a));
  const uint64_t launches = metrics().launches;
  a.to_vector<float>();
  b.to_vector<float>();
  BOOST_TEST(metrics().launches == launches);
  jit::FlushListener listener;
  (a + b).eval();
  BOOST_REQUIRE(listener.flushes.size() == 1u);
  BOOST_TEST(listener.flushes[0].ops == 1u);
  BOOST_TEST(metrics().launches == launches + 1);
}

BOOST_AUTO_TEST_CASE(the_whole_component_at_once) {
  const Tensor x = numbers({10}), y = numbers({10});
  const Tensor a = x + 1, b = a * 2, c = a * 3, d = y + 1, e = d * 2;
  c.eval();
  BOOST_TEST((ready(a) && ready(b) && ready(c)));
  BOOST_TEST((!ready(d) && !ready(e)));
  const Tensor joined = e + 1;
  d.eval();
  BOOST_TEST((ready(e) && ready(joined)));
}

BOOST_AUTO_TEST_CASE(components_join_when_an_op_uses_both) {
  const Tensor x = numbers({10}), y = numbers({10});
  const Tensor a = x + 1, b = y + 1, c = a + b, d = y * 7;
  a.eval();
  BOOST_TEST((ready(b) && ready(c)));
  BOOST_TEST(!ready(d));  // it shares only a value that exists
}

BOOST_AUTO_TEST_CASE(temporaries_are_not_stored) {
  const int64_t n = 100000;
  const Tensor x = numbers({n});
  reset_metrics();
  const uint64_t before = metrics().bytes_live;
  Tensor y = x;
  for (int i = 0; i < 20; ++i) y = y * 0.5 + 1;
  y.eval();
  BOOST_TEST(metrics().bytes_peak == before + static_cast<uint64_t>(n) * 4);
  BOOST_TEST(metrics().bytes_live == before + static_cast<uint64_t>(n) * 4);
}

BOOST_AUTO_TEST_CASE(a_reduction_of_a_chain_stores_one_number) {
  const Tensor x = numbers({1000, 100});
  reset_metrics();
  const uint64_t before = metrics().bytes_live;
  const Tensor y = sum(exp(x * 1e-6) * 2 - 1);
  y.eval();
  BOOST_TEST(metrics().bytes_peak < before + 1000);
}

BOOST_AUTO_TEST_CASE(what_nobody_can_name_is_not_computed) {
  const Tensor x = numbers({10});
  Tensor y = x * 2;
  { const Tensor unused = cumsum(exp(y), {0}); }
  jit::FlushListener listener;
  y.eval();
  BOOST_REQUIRE(listener.flushes.size() == 1u);
  BOOST_TEST(listener.flushes[0].ops == 1u);
  BOOST_TEST(listener.flushes[0].kernels == 1u);
}

BOOST_AUTO_TEST_CASE(dropping_everything_runs_nothing) {
  const Tensor x = numbers({10});
  const Metrics before = metrics();
  { const Tensor y = sum(exp(x) + 1) * cumsum(x, {0}); }
  BOOST_TEST(metrics().launches == before.launches);
  BOOST_TEST(metrics().flushes == before.flushes);
  BOOST_TEST(metrics().bytes_live == before.bytes_live);
}

BOOST_AUTO_TEST_CASE(views_of_values_wait_for_nothing) {
  const Tensor x = numbers({6, 4});
  const uint64_t before = metrics().nodes_recorded;
  const Tensor y = flip(permute(x, {1, 0})(slice(1, none), _), {0});
  BOOST_TEST(ready(y));
  BOOST_TEST(metrics().nodes_recorded > before);
  const uint64_t live = metrics().bytes_live;
  y.eval();
  BOOST_TEST(metrics().bytes_live == live);
  BOOST_TEST(y.to_vector<float>()[0] == 4);
}

BOOST_AUTO_TEST_CASE(memory_comes_back) {
  const uint64_t before = metrics().bytes_live;
  {
    const Tensor x = numbers({1000});
    const Tensor a = x + 1, b = cumsum(a, {0}), c = reshape(b, {10, 100})(slice(2, 4), _);
    c.eval();
  }
  BOOST_TEST(metrics().bytes_live == before);
}

BOOST_AUTO_TEST_SUITE_END()
