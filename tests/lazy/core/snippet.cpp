// Tests the program of the design page, as a user writes it.
#include <lazy/lazy.hpp>

#include <iostream>
#include <sstream>

#include "tests/common/check.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(snippet)

BOOST_AUTO_TEST_CASE(reads_as_if_it_ran_at_once) {
  Tensor x = reshape(arange(0, 12, 1, float32), {3, 4});
  Tensor w = tensor({{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}, {7.0f, 8.0f}});
  Tensor y = tanh(matmul(x, w)) * 0.5 + mean(x, {-1}, keepdims);
  check::equal(y, float32, {3, 2}, {2, 2, 6, 6, 10, 10});

  Tensor u = arange(0, 20, 1, float32).reshape({5, 4});
  const int n = 5;
  u(slice(1, n - 1), _) = u(slice(2, n), _) * 0.25;
  check::equal(u, float32, {5, 4},
               {0, 1, 2, 3, 2, 2.25, 2.5, 2.75, 3, 3.25, 3.5, 3.75, 4, 4.25, 4.5, 4.75, 16, 17, 18, 19});

  x(x > 3) += 1;
  check::equal(x, float32, {3, 4}, {0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12});
  Tensor s = where(x == 5, zeros_like(x), x);
  check::equal(s, float32, {3, 4}, {0, 1, 2, 3, 0, 6, 7, 8, 9, 10, 11, 12});
  Tensor b = (x == 1) & (s < 2);
  check::equal(b, bool_, {3, 4}, {0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});

  float total = sum(y).item<float>();
  BOOST_TEST(total == 36);
  std::vector<float> v = y.to_vector<float>();
  BOOST_TEST(v.size() == 6u);
  std::ostringstream out;
  out << y << '\n';
  BOOST_TEST(out.str() == "[[ 2.  2.]\n [ 6.  6.]\n [10. 10.]]\n");
  eval(y, s);
  [[maybe_unused]] long n_compiled = static_cast<long>(metrics().kernels_compiled);

  std::string message;
  int line = 0;
  try {
    line = __LINE__ + 1;
    x + ones({5, 5});
  } catch (const ShapeError& e) { message = e.what(); }
  BOOST_TEST(message ==
             "add: shapes [3, 4] and [5, 5] do not broadcast (snippet.cpp:" + std::to_string(line) + ")");
}

template <class T>
concept Grows = requires(T&& t) {
  std::forward<T>(t) += 5.0f;
};
// `auto r = x(0); r += 5.0f;` would leave x as it was.
static_assert(!Grows<View&> && !Grows<Selection&> && Grows<Tensor&>);
static_assert(Grows<View> && Grows<Selection>);
template <class T>
concept Shifts = requires(T&& t) {
  std::forward<T>(t) <<= 1;
};
/// Writing to what has been indexed already would change nothing that lives on.
template <class T>
concept WritesTwice = requires(T& x) {
  x(0)(1) = 5.0f;
}
|| requires(T& x) { x.T()(0) = 5.0f; };
static_assert(!WritesTwice<Tensor>);
static_assert(!Shifts<View&> && Shifts<View> && Shifts<Selection> && Shifts<Tensor&>);

BOOST_AUTO_TEST_CASE(auto_is_safe) {
  Tensor x = arange(6);
  auto first = x(slice(0, 3));
  x = x * 10;
  check::equal(first, int64, {3}, {0, 1, 2});
  first = first + 1;  // rebinds the variable; x stays the same
  check::equal(first, int64, {3}, {1, 2, 3});
  check::equal(x, int64, {6}, {0, 10, 20, 30, 40, 50});
  auto masked = x(x > 25);
  x(0) = 7;
  check::equal(masked, int64, {3}, {30, 40, 50});
  auto z = x + 1;
  auto t = z;
  z += 1;
  check::equal(t, int64, {6}, {8, 11, 21, 31, 41, 51});
}

BOOST_AUTO_TEST_SUITE_END()
