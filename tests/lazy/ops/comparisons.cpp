// Tests that comparisons of integers with scalars are mathematically right, wherever the scalar lies.
#include <random>

#include "lazy/core/scalar.hpp"
#include "tests/common/check.hpp"

using namespace lazy;
using check::equal;
using check::inf;
using check::NaN;

BOOST_AUTO_TEST_SUITE(comparisons)

namespace {

using Real = __float128;  // represents every int64, uint64 and double

/// Holds one of the six comparisons, on tensors and on numbers.
struct Comparison {
  const char* name;
  Tensor (*of_tensors)(Arg, Arg);
  bool (*of_numbers)(Real, Real);
};
const Comparison kAll[] = {
    {"equal", equal, [](Real a, Real b) { return a == b; }},
    {"not_equal", not_equal, [](Real a, Real b) { return a != b; }},
    {"less", less, [](Real a, Real b) { return a < b; }},
    {"less_equal", less_equal, [](Real a, Real b) { return a <= b; }},
    {"greater", greater, [](Real a, Real b) { return a > b; }},
    {"greater_equal", greater_equal, [](Real a, Real b) { return a >= b; }},
};

/// Returns all six, in both orders, of every element with the scalar: bits of one number, so from one
/// program.
template <class T, class S>
void compare(const std::vector<T>& elements, const Tensor& x, S scalar) {
  Tensor answers = zeros(x.shape(), int32);
  int bit = 0;
  for (const Comparison& c : kAll)
    for (const Tensor& r : {c.of_tensors(x, scalar), c.of_tensors(scalar, x)})
      answers = answers + astype(r, int32) * (1 << bit++);
  const std::vector<int32_t> got = answers.to_vector<int32_t>();
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto e = static_cast<Real>(elements[i]), s = static_cast<Real>(scalar);
    for (int k = 0; k < bit; ++k) {
      const Comparison& c = kAll[k / 2];
      const bool expected = k % 2 == 0 ? c.of_numbers(e, s) : c.of_numbers(s, e);
      if ((got[i] >> k & 1) != expected)
        BOOST_ERROR(c.name << (k % 2 == 0 ? " of " : " (the other way round) of ") << name_of(x.dtype())
                           << " " << +elements[i] << " and " << scalar << " is " << !expected);
    }
  }
  BOOST_TEST(got.size() == elements.size());
}

template <class T>
void with_every_scalar() {
  using L = std::numeric_limits<T>;
  const std::vector<T> elements{L::min(), L::max(), T(0), T(1), T(2), T(100), static_cast<T>(L::max() - 1)};
  const Tensor x = from_span(elements);
  for (const int64_t s :
       {INT64_MIN, int64_t{-2147483649}, int64_t{-32769}, int64_t{-129}, int64_t{-128}, int64_t{-1},
        int64_t{0}, int64_t{1}, int64_t{127}, int64_t{128}, int64_t{255}, int64_t{256}, int64_t{300},
        int64_t{65535}, int64_t{65536}, int64_t{4294967295}, int64_t{4294967296}, INT64_MAX - 1, INT64_MAX})
    compare(elements, x, s);
  for (const uint64_t s :
       {uint64_t{1}, uint64_t{INT64_MAX}, uint64_t{INT64_MAX} + 1, UINT64_MAX - 1, UINT64_MAX})
    compare(elements, x, s);
  for (const double s :
       {0.0,  -0.0,  0.5,    -0.5,    1.0,    1.5,     2.0,   99.5,   100.0,  127.5, 255.5, -128.5,
        1e10, -1e10, 0x1p63, -0x1p63, 0x1p64, -0x1p64, 1e300, -1e300, 5e-324, inf,   -inf,  NaN})
    compare(elements, x, s);
  compare(elements, x, 1.5f);
  compare(elements, x, true);
  std::mt19937_64 random(7);
  for (int i = 0; i < 50; ++i) {
    compare(elements, x, static_cast<int64_t>(random() >> (random() % 64)));
    compare(elements, x, static_cast<double>(static_cast<int64_t>(random() >> (random() % 64))) / 4);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(of_signed_integers) {
  with_every_scalar<int8_t>();
  with_every_scalar<int16_t>();
  with_every_scalar<int32_t>();
  with_every_scalar<int64_t>();
}

BOOST_AUTO_TEST_CASE(of_unsigned_integers) {
  with_every_scalar<uint8_t>();
  with_every_scalar<uint16_t>();
  with_every_scalar<uint32_t>();
  with_every_scalar<uint64_t>();
}

BOOST_AUTO_TEST_CASE(of_bools) {
  const Tensor x = tensor({true, false});
  equal(x == UINT64_MAX, bool_, {2}, {0, 0});
  equal(x < UINT64_MAX, bool_, {2}, {1, 1});
  equal(UINT64_MAX <= x, bool_, {2}, {0, 0});
  equal(x == 1, bool_, {2}, {1, 0});
  equal(x > 0.5, bool_, {2}, {1, 0});
  equal(x != 300, bool_, {2}, {1, 1});
}

BOOST_AUTO_TEST_CASE(as_users_write_them) {
  const Tensor u8 = tensor({1, 44, 255}, uint8);
  equal(u8 == 300, bool_, {3}, {0, 0, 0});
  equal(u8 != 300, bool_, {3}, {1, 1, 1});
  equal(u8 < 300, bool_, {3}, {1, 1, 1});
  equal(-1 < u8, bool_, {3}, {1, 1, 1});
  equal(u8 <= 43.5, bool_, {3}, {1, 0, 0});
  equal(tensor({16777217}) == 16777216.0, bool_, {1}, {0});  // rounded to one float32
  BOOST_TEST((zeros({2, 0, 3}, int8) == 1000).shape() == (Shape{2, 0, 3}));
  BOOST_TEST((zeros({}, int8) == 1000).ndim() == 0);
  Tensor x = tensor({1, 2, 3}, int8);
  x(x < 1000) = 7;
  equal(x, int8, {3}, {7, 7, 7});
  x(x > 1000) = 9;
  equal(x, int8, {3}, {7, 7, 7});
  BOOST_TEST(!bool(any(x == 1000)));
  THROWS(Error, Tensor() == 1000, "equal: the tensor is empty (default-constructed): assign to it first");
  THROWS(DtypeError, x + 1000, "add: 1000 does not fit int8: cast the tensor with astype first");
}

BOOST_AUTO_TEST_CASE(a_threshold_that_changes_compiles_once) {
  const Tensor x = arange(100);
  x.eval();
  const auto above = [&](double t) { return sum(x > t).item<int64_t>(); };
  BOOST_TEST(above(0.25) == 99);
  reset_metrics();
  for (int i = 1; i < 20; ++i) BOOST_TEST(above(i + 0.25) == 99 - i);
  for (const double t : {-1e300, -1., inf}) BOOST_TEST(above(t) == (t < 0 ? 100 : 0));
  BOOST_TEST(above(NaN) == 0);
  BOOST_TEST(metrics().program_misses == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
