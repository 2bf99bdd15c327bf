// Programs that once went wrong, as short as they could be made.
#include "tests/jit/fresh.hpp"

using namespace lazy;
using fresh::numbers;
using fresh::Override;

BOOST_FIXTURE_TEST_SUITE(regressions, fresh::Fixture)

// A kept view that a slice assignment starts from has memory of its own: it is no alias of something.
BOOST_AUTO_TEST_CASE(assignment_to_a_kept_view_of_an_index) {
  const Tensor base = flip(arange(0, 7, 1, int32));
  Tensor x = base;
  const std::vector<int32_t> patch = {10, 20, 30, 40};
  x(slice(none, none, -2)) = from_span(patch);
  BOOST_TEST(max(x).item<int32_t>() == 40);
  BOOST_TEST(base.to_vector<int32_t>()[0] == 6);
  BOOST_TEST(x.to_vector<int32_t>()[5] == 1);
}

// The copy that makes a strided leaf packed was inlined into the reshape, which then read past the rows.
BOOST_AUTO_TEST_CASE(reshape_of_a_transposed_leaf) {
  const Tensor x = numbers({3, 4});
  const Tensor t = permute(x, {1, 0});
  for (const char* eager : {"0", "1"}) {
    const Override mode("LAZY_EAGER", eager);
    const std::vector<float> expected = {1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12};
    BOOST_TEST(reshape(t, {12}).to_vector<float>() == expected, boost::test_tools::per_element());
    BOOST_TEST(sum(reshape(t, {2, 6}), {1}).to_vector<float>() == (std::vector<float>{33, 45}),
               boost::test_tools::per_element());
  }
}

// Whether scalars are folded must not depend on their values.
BOOST_AUTO_TEST_CASE(maximum_of_scalars_has_one_key) {
  const Tensor x = numbers({5});
  const auto f = [&](double a, double b) { (x + maximum(tensor(a), tensor(b))).eval(); };
  f(1, 2);
  const uint64_t before = metrics().program_misses;
  f(2, 2);
  f(0, -0.0);
  BOOST_TEST(metrics().program_misses == before);
}

BOOST_AUTO_TEST_SUITE_END()
