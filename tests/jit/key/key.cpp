// Tests what is part of a program's key, and what is an argument.
#include "tests/common/fresh.hpp"

using namespace lazy;
using fresh::numbers;

namespace {

/// True if running `f` compiled something.
template <class F>
bool compiles(F&& f) {
  const uint64_t before = metrics().program_misses;
  f();
  return metrics().program_misses != before;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(key, fresh::Fixture)

BOOST_AUTO_TEST_CASE(sizes_and_scalars_are_arguments) {
  const Tensor a = numbers({5, 7}), b = numbers({11, 2}), c = numbers({0, 3}), d = numbers({1000, 3});
  BOOST_TEST(compiles([&] { (a * 2.5 + 1).eval(); }));
  BOOST_TEST(!compiles([&] { (b * 2.5 + 1).eval(); }));
  BOOST_TEST(!compiles([&] { (c * -1.0 + 0).eval(); }));
  BOOST_TEST(!compiles([&] { (d * 0.0 + 7).eval(); }));
  BOOST_TEST(!compiles([&] { (a * 1.0 + 0).eval(); }));
}

BOOST_AUTO_TEST_CASE(a_thousand_sizes_compile_at_most_twice) {
  uint64_t compiled = 0;
  for (int64_t n = 0; n < 1000; ++n) {
    const std::vector<float> data(static_cast<size_t>(n), 2.0f);
    const Tensor x = from_span(data);
    compiled += compiles([&] { (exp(x) * static_cast<float>(n) - x).eval(); });
  }
  BOOST_TEST(compiled == 2u);  // one for extents of 1, and one for all others
}

BOOST_AUTO_TEST_CASE(slice_positions_are_arguments) {
  const Tensor x = numbers({20, 6});
  const auto f = [&](int64_t from, int64_t to, int64_t step) {
    const Tensor y = x * 2;  // pending: the slice is part of the graph
    return (y(slice(from, to, step), _) + 1).eval().to_vector<float>()[0];
  };
  BOOST_TEST(f(2, 18, 2) == 27);
  BOOST_TEST(!compiles([&] { BOOST_TEST(f(3, 19, 3) == 39); }));
  BOOST_TEST(!compiles([&] { BOOST_TEST(f(15, 1, -2) == 183); }));
}

BOOST_AUTO_TEST_CASE(ops_dtypes_ranks_ones_and_kept_values_are_structure) {
  const Tensor x = numbers({4, 5}), row = numbers({1, 5}), wide = numbers({4, 5}, float64),
               flat = numbers({20});
  const auto f = [](Tensor (*op)(Arg), const Tensor& a, const Tensor& b) {
    Tensor y = op(a) + b;
    y = y * 2;
    y.eval();
  };
  BOOST_TEST(compiles([&] { f(sin, x, x); }));
  BOOST_TEST(!compiles([&] { f(sin, x, x); }));
  BOOST_TEST(compiles([&] { f(cos, x, x); }));
  BOOST_TEST(compiles([&] { f(sin, wide, wide); }));
  BOOST_TEST(compiles([&] { f(sin, row, x); }));
  BOOST_TEST(compiles([&] { f(sin, flat, flat); }));
  BOOST_TEST(compiles([&] {
    const Tensor kept = sin(x);
    Tensor y = kept + x;
    y = y * 2;
    y.eval();
  }));
  const Tensor other = numbers({4, 5});
  BOOST_TEST(compiles([&] { f(sin, x, other); }));  // two inputs where there was one
}

BOOST_AUTO_TEST_CASE(axes_are_structure) {
  const Tensor x = numbers({4, 4});
  BOOST_TEST(compiles([&] { sum(x * 2, {0}).eval(); }));
  BOOST_TEST(compiles([&] { sum(x * 2, {1}).eval(); }));
  BOOST_TEST(!compiles([&] { sum(x * 2, {0}).eval(); }));
}

BOOST_AUTO_TEST_CASE(settings_are_structure) {
  const Tensor x = astype(numbers({9}), float16).eval();
  const auto f = [&] { (x * 3 + x).eval(); };
  BOOST_TEST(compiles(f));
  const fresh::Override exact("LAZY_EXACT_CASTS", "1");
  BOOST_TEST(compiles(f));
  BOOST_TEST(!compiles(f));
}

BOOST_AUTO_TEST_CASE(who_made_a_leaf_does_not_matter) {
  const Tensor a = numbers({6});
  const Tensor b = (a * 3).eval();
  BOOST_TEST(compiles([&] { (sqrt(a) - 1).eval(); }));
  BOOST_TEST(!compiles([&] { (sqrt(b) - 1).eval(); }));
}

BOOST_AUTO_TEST_SUITE_END()
