// Tests programs that once went wrong, as short as they could be made.
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::numbers;
using fresh::Override;

BOOST_FIXTURE_TEST_SUITE(regressions, fresh::Fixture)

// A stored view that a slice assignment starts from has separate memory: it is no alias.
BOOST_AUTO_TEST_CASE(assignment_to_a_kept_view_of_an_index) {
  const Tensor base = flip(arange(0, 7, 1, int32));
  Tensor x = base;
  const std::vector<int32_t> patch = {10, 20, 30, 40};
  x(slice(none, none, -2)) = from_span(patch);
  BOOST_TEST(max(x).item<int32_t>() == 40);
  BOOST_TEST(base.to_vector<int32_t>()[0] == 6);
  BOOST_TEST(x.to_vector<int32_t>()[5] == 1);
}

// The copy that makes a strided input packed was inlined into the reshape, which then read past the rows.
BOOST_AUTO_TEST_CASE(reshape_of_a_transposed_input) {
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

// Values of scalars must not decide if they are folded.
BOOST_AUTO_TEST_CASE(maximum_of_scalars_has_one_key) {
  const Tensor x = numbers({5});
  const auto f = [&](double a, double b) { (x + maximum(tensor(a), tensor(b))).eval(); };
  f(1, 2);
  const uint64_t before = metrics().program_misses;
  f(2, 2);
  f(0, -0.0);
  BOOST_TEST(metrics().program_misses == before);
}

// A value becomes a reshaped input once the ops between them have been simplified away: it needs a packed
// input, and the program must not serve one with gaps.
BOOST_AUTO_TEST_CASE(reshape_that_comes_to_stand_on_a_input) {
  const auto whole = [](const Tensor& x) { return reshape(-(-x), {8, 3}); };
  const auto part = [](const Tensor& x) {
    const Tensor y = reshape(-(-x), {8, 3});
    return y(slice(1, none, 2), slice(none, none, -1)) + 0.5;
  };
  const Tensor packed = numbers({4, 6}), moved = permute(numbers({6, 4}), {1, 0});
  for (const Tensor& x : {packed, moved}) {
    const std::vector<float> a = whole(x).to_vector<float>(), b = part(x).to_vector<float>();
    const std::vector<float> in = x.to_vector<float>();
    BOOST_TEST(a == in, boost::test_tools::per_element());
    for (size_t i = 0; i < 4; ++i)
      for (size_t j = 0; j < 3; ++j) BOOST_TEST(b[i * 3 + j] == in[(2 * i + 1) * 3 + 2 - j] + 0.5f);
  }
}

// An operand of a reduction's epilogue has gaps, where two other axes are merged.
BOOST_AUTO_TEST_CASE(epilogue_with_a_strided_operand) {
  const std::vector<uint8_t> flags(200, 1);
  const Tensor x = numbers({2, 3, 4, 5}, int64);
  const Tensor mask = from_blob(const_cast<uint8_t*>(flags.data()), {2, 3, 5}, bool_, {45, 15, 3});
  const Tensor position = argmin(x, {2});
  const Tensor y = where(mask, position * 2, position - 1);
  BOOST_TEST(y.to_vector<int64_t>() == std::vector<int64_t>(30, 0), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
