// Tests inputs that programs read in another layout, such as the weights of some layers: copied once, while
// they are unchanged.
#include <thread>

#include "tests/common/fresh.hpp"

using namespace lazy;
using config::Override;

namespace {

Tensor image() { return fresh::numbers({9, 72}) * 0.01f; }
Tensor weights() { return (sin(fresh::numbers({16, 8, 3, 3})) * 1.0f).eval(); }
/// Multiplies by weights (results, ...), which are read as a matrix (..., results).
Tensor product(const Tensor& x, const Tensor& w) {
  return matmul(x, reshape(permute(w, {2, 1, 3, 0}), {72, w.size(0)}));
}
std::vector<float> multiplied(const Tensor& x, const Tensor& w) { return product(x, w).to_vector<float>(); }

std::vector<float> without_copies(const Tensor& x, const Tensor& w) {
  const Override off("LAZY_KEEP_LAYOUTS", "0");
  return multiplied(x, w);
}
void same(const std::vector<float>& a, const std::vector<float>& b) {
  BOOST_TEST(a == b, boost::test_tools::per_element());
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(relayouts, fresh::Fixture)

BOOST_AUTO_TEST_CASE(the_third_run_finds_the_copy_that_the_second_kept) {
  const Tensor x = image().eval(), w = weights();
  const std::vector<float> first = multiplied(x, w);
  BOOST_TEST(metrics().layouts_reused == 0u);
  const uint64_t live = metrics().bytes_live, launches = metrics().launches;
  same(multiplied(x, w), first);
  const uint64_t of_a_run = metrics().launches - launches;
  BOOST_TEST(metrics().layouts_reused == 0u);
  BOOST_TEST(metrics().bytes_live > live);
  same(multiplied(x, w), first);
  BOOST_TEST(metrics().layouts_reused == 1u);
  BOOST_TEST(metrics().launches - launches == 2 * of_a_run - 1);
  same(without_copies(x, w), first);
}

BOOST_AUTO_TEST_CASE(copies_go_with_their_input) {
  const Tensor x = image().eval();
  const uint64_t live = metrics().bytes_live;
  {
    const Tensor w = weights();
    for (int i = 0; i < 4; ++i) multiplied(x, w);
    BOOST_TEST(metrics().layouts_reused >= 2u);
  }
  BOOST_TEST(metrics().bytes_live == live);
}

// Weights are written to in place, completely or in part.
BOOST_AUTO_TEST_CASE(an_input_that_changes_is_laid_out_anew) {
  const Tensor x = image().eval();
  Tensor w = weights();
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 3; ++k) same(multiplied(x, w), without_copies(x, w));
    w = w * 1.5f + 0.25f;
    w.eval();
    same(multiplied(x, w), without_copies(x, w));
    w(3, _) = static_cast<float>(i);
    w.eval();
  }
  BOOST_TEST(metrics().layouts_reused >= 5u);
  BOOST_TEST(metrics().bytes_donated > 0u);
}

BOOST_AUTO_TEST_CASE(the_users_memory_may_change_at_any_time) {
  const Tensor x = image().eval();
  std::vector<float> mine = weights().to_vector<float>();
  const Tensor w = from_blob(mine.data(), {16, 8, 3, 3});
  for (int i = 0; i < 4; ++i) {
    for (float& v : mine) v = v * 0.5f + 1;
    same(multiplied(x, w), multiplied(x, w.copy()));
  }
}

BOOST_AUTO_TEST_CASE(views_of_one_buffer_have_copies_of_their_own) {
  const Tensor x = image().eval(), all = (cos(fresh::numbers({32, 8, 3, 3})) * 1.0f).eval();
  const Tensor low = all(slice(0, 16)), high = all(slice(16, 32)), other = all(slice(0, 32, 2));
  for (int i = 0; i < 4; ++i)
    for (const Tensor& w : {low, high, other}) same(multiplied(x, w), without_copies(x, w));
  BOOST_TEST(metrics().layouts_reused > 0u);
}

BOOST_AUTO_TEST_CASE(the_limit_holds) {
  const Tensor x = image().eval(), w = weights();
  const Override limit("LAZY_KEEP_LAYOUTS", "100");
  const std::vector<float> first = multiplied(x, w);
  const uint64_t live = metrics().bytes_live;
  for (int i = 0; i < 4; ++i) same(multiplied(x, w), first);
  BOOST_TEST(metrics().layouts_reused == 0u);
  BOOST_TEST(metrics().bytes_live == live);
}

// A recurrence over the copy overwrites its state in one flush: the copy's memory is not taken over.
BOOST_AUTO_TEST_CASE(a_kept_copy_is_not_handed_on) {
  const Tensor w = (sin(fresh::numbers({72, 8, 3, 3})) * 0.05f).eval();
  std::vector<float> expected;
  for (int round = 0; round < 6; ++round) {
    Tensor x = image().eval(), v = (x * 0.1f).eval();
    for (int t = 0; t < 6; ++t) {
      v = 0.9f * v - 0.1f * product(x, w);
      x = x + v;
    }
    const std::vector<float> found = x.to_vector<float>();
    if (round == 0) expected = found;
    same(found, expected);
  }
  BOOST_TEST(metrics().layouts_reused > 0u);
}

BOOST_AUTO_TEST_CASE(threads_share_copies) {
  const Tensor x = image().eval(), w = weights();
  const std::vector<float> expected = multiplied(x, w);
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (size_t t = 0; t < good.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) good[t] += multiplied(x, w) == expected;
    });
  for (std::thread& t : threads) t.join();
  for (int g : good) BOOST_TEST(g == 50);
  BOOST_TEST(metrics().layouts_reused > 100u);
}

BOOST_AUTO_TEST_SUITE_END()
