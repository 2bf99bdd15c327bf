// Tests the programs that a thread keeps with their arguments: flushes within flushes, and layouts that
// change between two flushes of one key.
#include <random>
#include <thread>

#include "tests/common/asked.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::numbers;

namespace {

using Values = std::vector<float>;

Values plus_one(Values v) {
  for (float& x : v) x += 1;
  return v;
}

/// Counts up from `first`.
Values counted(int64_t n, float first) {
  Values v(static_cast<size_t>(n));
  for (float& x : v) x = first++;
  return v;
}

/// Computes one of 1,024 programs on x, and the same by hand.
Tensor by_program(const Tensor& x, unsigned which) {
  Tensor t = x;
  for (int bit = 0; bit < 10; ++bit) t = which >> bit & 1 ? t + x : maximum(t, x);
  return t;
}
Values by_hand(const Values& x, unsigned which) {
  Values t = x;
  for (int bit = 0; bit < 10; ++bit)
    for (size_t i = 0; i < x.size(); ++i) t[i] = which >> bit & 1 ? t[i] + x[i] : std::max(t[i], x[i]);
  return t;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(kept_programs, fresh::Fixture)

// More programs take turns than the table holds at first; it grows, and what it holds is dropped meanwhile.
BOOST_AUTO_TEST_CASE(programs_by_the_hundred_in_turn_and_in_any_order) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  constexpr unsigned kPrograms = 300;
  const Tensor x = numbers({3}), y = numbers({7});
  const Values of_x = x.to_vector<float>(), of_y = y.to_vector<float>();
  const auto run = [&](unsigned which) {
    const bool other = random() % 2;
    const Values got = by_program(other ? y : x, which).to_vector<float>();
    BOOST_REQUIRE(got == by_hand(other ? of_y : of_x, which));
  };
  for (int round = 0; round < 4; ++round)
    for (unsigned i = 0; i < kPrograms; ++i) run(i);
  const uint64_t misses = metrics().program_misses;
  for (int i = 0; i < 1000; ++i) run(static_cast<unsigned>(random() % kPrograms));
  BOOST_TEST(metrics().program_misses == misses);
  cache::clear();
  for (int i = 0; i < 500; ++i) {
    run(static_cast<unsigned>(random() % kPrograms));
    if (i % 100 == 50) (void)release_memory();
    if (i % 100 == 80) std::thread([] { cache::clear(); }).join();
  }
}

// Several outputs: the entry of the key is needed beside the program, and values are dropped after a while.
BOOST_AUTO_TEST_CASE(several_outputs_again_and_again) {
  const Tensor x = numbers({6});
  const Values values = x.to_vector<float>();
  for (int i = 0; i < 40; ++i) {
    const Tensor a = x + 1, b = a + x, c = b * 2;
    eval(a, c);
    if (i % 3 == 0) BOOST_TEST(b.to_vector<float>()[5] == values[5] * 2 + 1);
    BOOST_TEST(a.to_vector<float>() == plus_one(values), boost::test_tools::per_element());
    BOOST_TEST(c.to_vector<float>()[2] == (values[2] * 2 + 1) * 2);
    if (i == 20) cache::clear();
  }
}

// The memory of an input goes within the flush that reads it last, and its deleter is the user's code.
BOOST_AUTO_TEST_CASE(a_flush_within_another_of_the_same_key) {
  for (const auto meanwhile : {+[] {}, +[] { (void)release_memory(); }, +[] { cache::clear(); }})
    for (int i = 0; i < 6; ++i) {
      Values outer = counted(5, static_cast<float>(i)), inner = counted(7, static_cast<float>(10 * i)), got;
      int calls = 0;
      const Tensor y = from_span(inner);
      Tensor z;
      {
        const Tensor x = from_blob(outer.data(), {5}, float32, {}, [&](void*) {
          ++calls;
          meanwhile();
          got = (y + 1).to_vector<float>();
        });
        z = x + 1;
      }
      const Values expected = plus_one(outer);
      BOOST_TEST(z.to_vector<float>() == expected, boost::test_tools::per_element());
      BOOST_TEST(calls == 1);
      BOOST_TEST(got == plus_one(inner), boost::test_tools::per_element());
      BOOST_TEST((y + 1).to_vector<float>() == plus_one(inner), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_flush_of_the_same_key_needs_no_other_program) {
  const Tensor x = numbers({5}), y = numbers({9});
  (void)(x + 1).to_vector<float>();
  const uint64_t before = metrics().program_misses;
  for (int i = 0; i < 20; ++i) {
    BOOST_TEST((x + 1).to_vector<float>() == plus_one(x.to_vector<float>()));
    BOOST_TEST((y + 1).to_vector<float>() == plus_one(y.to_vector<float>()));
    std::thread([&] { BOOST_TEST((y + 1).to_vector<float>() == plus_one(y.to_vector<float>())); }).join();
  }
  BOOST_TEST(metrics().program_misses == before);
}

// Guards count as checked where layouts are as they were: not where they have changed.
BOOST_AUTO_TEST_CASE(layouts_that_change_between_flushes) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const Tensor all = numbers({24, 24});
  const Values values = all.to_vector<float>();
  for (int i = 0; i < 300; ++i) {
    const auto rows = static_cast<int64_t>(2 + random() % 3),
               columns = static_cast<int64_t>(2 + random() % 3);
    const auto step = static_cast<int64_t>(1 + random() % 3);
    const bool turned = random() % 2, packed = random() % 2;
    Tensor x = all(slice(0, rows * step, step), slice(0, columns));
    if (packed) x = x.copy().eval();
    if (turned) x = x.T();
    const Values got = (x + 1).to_vector<float>();
    BOOST_REQUIRE_EQUAL(got.size(), static_cast<size_t>(rows * columns));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        const auto at = static_cast<size_t>(turned ? c * rows + r : r * columns + c);
        BOOST_REQUIRE_EQUAL(got[at], values[static_cast<size_t>(r * step * 24 + c)] + 1);
      }
  }
}

BOOST_AUTO_TEST_SUITE_END()
