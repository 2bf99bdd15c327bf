// Tests x(...) with tensors and lists: every way to write one, dtypes, errors, what is computed when, and
// long chains of writes.
#include <random>

#include "tests/common/asked.hpp"
#include "tests/common/check.hpp"

using namespace lazy;
using check::equal;

namespace {

Tensor at(const std::vector<int64_t>& v, DType t = int64) { return astype(asarray(v), t); }

}  // namespace

BOOST_AUTO_TEST_SUITE(computed_indices)

BOOST_AUTO_TEST_CASE(ways_to_write_one) {
  Tensor x = arange(12).reshape({3, 4});
  const Tensor same = x;
  equal(x({0, 2}), int64, {2, 4}, {0, 1, 2, 3, 8, 9, 10, 11});
  equal(same({0, 2}, _), int64, {2, 4}, {0, 1, 2, 3, 8, 9, 10, 11});
  equal(x({0, -1}, {1, 2}), int64, {2}, {1, 10});
  equal(x(_, {3}), int64, {3, 1}, {3, 7, 11});
  const std::vector<int64_t> list{1, 1};
  equal(x(list), int64, {2, 4}, {4, 5, 6, 7, 4, 5, 6, 7});
  equal(x(std::vector<int64_t>{}, 0), int64, {0}, {});
  equal(same(std::vector<Index>{at({2}), slice(1, 3)}), int64, {1, 2}, {9, 10});
  equal((x + 0)(std::vector<Index>{}), int64, {3, 4}, same.to_vector<double>());
  const Tensor i = tensor(2);
  equal(x(i), int64, {4}, {8, 9, 10, 11});
  equal(x(i, -1), int64, {}, {11});
  equal(x(at({1, 2})(0), 0), int64, {}, {4});
  equal(x(x(_, 0) > 3, 1), int64, {2}, {5, 9});
  equal(x(at({2, 0}))(0, slice(0, 2)), int64, {2}, {8, 9});
  equal(x(at({2, 0})).sum(0), int64, {4}, {8, 10, 12, 14});
  BOOST_TEST((x(at({2, 0})).shape() == Shape{2, 4}));
  BOOST_TEST(x(same > 5).size() == 6);
  BOOST_TEST(x(same > 10).item<int>() == 11);
  equal(Tensor(x(at({0}, uint8))) + 1, int64, {1, 4}, {1, 2, 3, 4});
  x(i, at({0, 1})) = at({70, 80});
  x({0}, _) = 5;
  x(std::vector<Index>{1, newaxis, at({3})}) -= 6;
  equal(x, int64, {3, 4}, {5, 5, 5, 5, 4, 5, 6, 1, 70, 80, 10, 11});
  equal(same, int64, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

BOOST_AUTO_TEST_CASE(repeats) {
  Tensor x = zeros({4}, int64);
  x(at({1, 1, 3, 1})) = at({10, 20, 30, 40});
  equal(x, int64, {4}, {0, 40, 0, 30});
  x(at({1, 1, 0})) += 1;
  equal(x, int64, {4}, {1, 41, 0, 30});
  equal(index_put(x, {at({1, 1, 0})}, 1, true), int64, {4}, {2, 43, 0, 30});
  Tensor y = zeros({2, 2}, int64);
  y(at({0, 0, 1}), at({1, 1, 0})) = at({1, 2, 3});
  equal(y, int64, {2, 2}, {0, 2, 3, 0});
  y(at({0, 0, 1}), at({1, 1, 0})) *= 10;
  equal(y, int64, {2, 2}, {0, 20, 30, 0});
}

BOOST_AUTO_TEST_CASE(masks_take_one_value_each) {
  Tensor x = arange(6).reshape({2, 3}), y = x * 10;
  x(x > 3) = at({7, 8});
  equal(x, int64, {2, 3}, {0, 1, 2, 3, 7, 8});
  const Tensor odd = x % 2 == 1;
  x(odd) += y(odd);
  equal(x, int64, {2, 3}, {0, 11, 2, 33, 47, 8});
  x(tensor({true, false})) = tensor({{1, 2, 3}});
  x(_, tensor({true, false, true})) = tensor({{0, 9}});
  equal(x, int64, {2, 3}, {0, 2, 9, 0, 47, 9});
  x(x > 100) = zeros({0}, int64);
  x(x == 47, newaxis) = -7;
  equal(x, int64, {2, 3}, {0, 2, 9, 0, -7, 9});
  THROWS(ShapeError, x(x == 9) = at({1, 2, 3}),
         "assign: a value of shape [3] does not broadcast to the selected [2]");
  THROWS(ShapeError, x(x == 9) -= at({1, 2, 3}), "-=: shapes [2] and [3] do not broadcast");
  equal(x, int64, {2, 3}, {0, 2, 9, 0, -7, 9});
}

BOOST_AUTO_TEST_CASE(errors) {
  Tensor x = arange(6).reshape({2, 3});
  THROWS(IndexError, x(at({0, 2})).eval(), "index: index 2 is out of range for an axis of 2 elements");
  THROWS(IndexError, x(_, at({-4})).eval(), "index: index -4 is out of range for an axis of 3 elements");
  THROWS(IndexError, x(at({0, 1}), at({0, 3})).eval(),
         "index: index 3 is out of range for an axis of 3 elements");
  THROWS(IndexError, x(at({-3, 1}), at({0, 3})).eval(),
         "index: index -3 is out of range for an axis of 2 elements");
  THROWS(IndexError, x({0, 2}), "index: 2 is out of range for axis 0 with extent 2");
  THROWS(IndexError, x(_, full({2}, -4)), "index: -4 is out of range for axis 1 with extent 3");
  THROWS(IndexError, zeros({2, 0})(_, at({0})), "index: no index is in range for an axis of 0 elements");
  THROWS(IndexError, x(0, 0, at({0})), "index: 3 indices for 2 dimensions of shape [2, 3]");
  THROWS(IndexError, x(0, tensor({true, true})(newaxis)),
         "index: 3 indices for 2 dimensions of shape [2, 3]");
  THROWS(IndexError, tensor(1)(at({0})), "index: 1 indices for 0 dimensions of shape []");
  THROWS(ShapeError, x(at({0, 1}), at({0, 1, 2})), "index: shapes [2] and [3] do not broadcast");
  THROWS(ShapeError, x(_, tensor({true, true})),
         "index: a mask of shape [2] does not match the dimensions from 1 on of [2, 3]");
  THROWS(ShapeError, zeros({1, 1, 1, 1, 1, 1, 1, 1})(newaxis, at({0})),
         "index: the result has more than 8 dimensions");
  THROWS(DtypeError, x(0, zeros({2})), "index: an index is of integers, a mask of bool, not float32");
  THROWS(Error, x(0, Tensor()), "index: the tensor is empty (default-constructed): assign to it first");
  THROWS(ShapeError, x(at({0, 1}), 0) = at({1, 2, 3}),
         "assign: a value of shape [3] does not broadcast to the selected [2]");
  // A fault is thrown when the value is computed, and the variable is what it was before.
  const Tensor before = x;
  x(at({0, 5})) = 1;
  BOOST_CHECK_THROW(x.eval(), IndexError);
  BOOST_CHECK_THROW(x.eval(), IndexError);
  x = before;
  x(at({0, 1}), at({0, 7})) = 1;
  BOOST_CHECK_THROW(x.eval(), IndexError);
  equal(before, int64, {2, 3}, {0, 1, 2, 3, 4, 5});
  x = before;
  THROWS(IndexError, (x(at({0, 1}), at({0, 7})) = 1, x.eval()),
         "index: index 7 is out of range for an axis of 3 elements");
}

// A write takes over memory that nobody else holds, but not before its indices have been looked at.
BOOST_AUTO_TEST_CASE(writes_in_place) {
  Tensor x = (arange(100000, float32) * 1).reshape({100, 1000}).eval();
  const Tensor i = at({1, -2}).eval(), j = at({3, 4}).eval(), bad = at({3, 1000}).eval();
  x(i, j) = 1;
  const float* const place = x.data<float>();
  x(i, j) = asarray(std::vector<float>{5, 6});
  BOOST_TEST(x.data<float>() == place);
  equal(x(i, j), float32, {2}, {5, 6});
  Tensor y = x(0, slice(0, 3)) + 1;
  x(i, bad) = 7;
  BOOST_CHECK_THROW(x.eval(), IndexError);
  BOOST_CHECK_THROW(x.eval(), IndexError);
  equal(y, float32, {3}, {1, 2, 3});
}

BOOST_AUTO_TEST_CASE(index_dtypes) {
  for (const DType t : {int8, int16, int32, int64, uint8, uint16, uint32, uint64}) {
    Tensor x = arange(300 * 3).reshape({300, 3});
    const Tensor i = at({2, 100, 0}, t), j = at({0, 2, 1}, t);
    equal(x(i, j), int64, {3}, {6, 302, 1});
    x(i, j) = -1;
    equal(x(i, 0), int64, {3}, {-1, 300, 0});
    if (is_unsigned_int(t)) {
      const Tensor large = at({-1}, t);
      BOOST_CHECK_THROW(arange(3)(large).eval(), IndexError);
      BOOST_CHECK_THROW(x(i, large).eval(), IndexError);
    }
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_read_by_a_lazy_write) {
  Tensor x = ones({3, 2});
  const uint64_t flushes = metrics().flushes;
  x(x > 5) = 0;
  x(x(_, 0) > 5) += tensor({1.0, 2.0});
  x(at({0, 1})) *= 2;
  x(at({0, 1}), at({0, 1})) = 9;
  BOOST_TEST(metrics().flushes == flushes);
  equal(x, float32, {3, 2}, {9, 2, 2, 9, 1, 1});
}

BOOST_AUTO_TEST_CASE(counts_are_flushes_of_their_own) {
  const Tensor x = arange(10).eval();
  const size_t count = static_cast<size_t>(jit::Cause::count);
  const auto counted = [&] { return metrics().flushes_by_cause[count]; };
  const uint64_t before = counted();
  equal(x(x > 6), int64, {3}, {7, 8, 9});
  equal(flatnonzero(x == 4), int64, {1}, {4});
  equal(masked_select(x, x < 2), int64, {2}, {0, 1});
  BOOST_TEST(counted() == before + 3);
}

// Long masks, which the CPU cuts in pieces, of every size of element.
BOOST_AUTO_TEST_CASE(long_masks) {
  const uint64_t seed = lazy::test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  std::mt19937_64 g(seed);
  const int64_t longest = default_device() == cpu ? 300007 : 3001;  // an emulated GPU takes a minute for more
  for (const int64_t n : {int64_t{63}, int64_t{64}, int64_t{65}, int64_t{127}, int64_t{1000}, longest}) {
    std::vector<bool> mask;
    std::vector<int64_t> chosen;
    const uint64_t often = 1 + g() % 8;
    for (int64_t i = 0; i < n; ++i) {
      mask.push_back(g() % 8 < often);
      if (mask.back()) chosen.push_back(i);
    }
    const Tensor m = asarray(mask), x = arange(n).eval();
    BOOST_TEST((x(m).to_vector<int64_t>() == chosen));
    BOOST_TEST((flatnonzero(m).to_vector<int64_t>() == chosen));
    for (const DType t : {int8, int16, float32, float64})
      BOOST_TEST((astype(x, t).eval()(m).to_vector<double>() ==
                  take(astype(x, t), asarray(chosen), 0).to_vector<double>()));
    const Tensor rows = stack({x, -x, x * 2}, 1).eval();
    BOOST_TEST((rows(m).to_vector<int64_t>() == take(rows, asarray(chosen), 0).to_vector<int64_t>()));
    Tensor y = x;
    y(m) = -asarray(chosen);
    BOOST_TEST((y.to_vector<int64_t>() == where(m, -x, x).to_vector<int64_t>()));
  }
}

BOOST_AUTO_TEST_SUITE_END()
