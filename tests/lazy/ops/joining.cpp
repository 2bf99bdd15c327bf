#include "lazy/ops/joining.hpp"

#include "support/config.hpp"
#include "tests/common/check.hpp"

using namespace lazy;
using check::equal;

BOOST_AUTO_TEST_SUITE(joining)

BOOST_AUTO_TEST_CASE(concatenating) {
  const Tensor a = arange(6).reshape({2, 3}), b = arange(3).reshape({1, 3}) * 10;
  equal(concat({a, b}), int64, {3, 3}, {0, 1, 2, 3, 4, 5, 0, 10, 20});
  equal(concat({a, a + 10}, 1), int64, {2, 6}, {0, 1, 2, 10, 11, 12, 3, 4, 5, 13, 14, 15});
  equal(cat({a, b, a}, -2), int64, {5, 3}, {0, 1, 2, 3, 4, 5, 0, 10, 20, 0, 1, 2, 3, 4, 5});
  equal(concat({a}), int64, {2, 3}, {0, 1, 2, 3, 4, 5});
  equal(concat({zeros({0, 3}), a}), float32, {2, 3}, {0, 1, 2, 3, 4, 5});
  equal(concat({zeros({0, 3}), zeros({0, 3})}), float32, {0, 3}, {});
  equal(concat({zeros({2, 0}), zeros({3, 0})}), float32, {5, 0}, {});
  equal(concat({tensor({1, 2}), tensor({0.5, 1.5})}), float32, {4}, {1, 2, 0.5, 1.5});
  equal(concat({a.T(), b.T()}, 1), int64, {3, 3}, {0, 3, 0, 1, 4, 10, 2, 5, 20});
  std::vector<Tensor> many;
  for (int i = 0; i < 40; ++i) many.push_back(tensor({i}));
  BOOST_TEST(sum(concat(many)).item<int64_t>() == 780);
  THROWS(ShapeError, concat({}), "concat: expected at least one tensor");
  THROWS(ShapeError, concat({tensor(1)}), "concat: a 0-d tensor has no axis to join along: stack makes one");
  THROWS(ShapeError, concat({a, arange(3)}), "concat: shapes [2, 3] and [3] differ in more than axis 0");
  THROWS(ShapeError, concat({a, b}, 1), "concat: shapes [2, 3] and [1, 3] differ in more than axis 1");
  BOOST_CHECK_THROW(concat({a, b}, 2), IndexError);
  BOOST_CHECK_THROW(concat({a, Tensor()}), Error);
  BOOST_CHECK_THROW(concat({astype(a, uint64), a}), DtypeError);
}

BOOST_AUTO_TEST_CASE(stacking) {
  const Tensor a = arange(3), b = arange(3) * 10;
  equal(stack({a, b}), int64, {2, 3}, {0, 1, 2, 0, 10, 20});
  equal(stack({a, b}, 1), int64, {3, 2}, {0, 0, 1, 10, 2, 20});
  equal(stack({a, b}, -1), int64, {3, 2}, {0, 0, 1, 10, 2, 20});
  equal(stack({tensor(1), tensor(2.5)}), float32, {2}, {1, 2.5});
  equal(stack({a}), int64, {1, 3}, {0, 1, 2});
  equal(stack({zeros({0}), zeros({0})}), float32, {2, 0}, {});
  THROWS(ShapeError, stack({a, arange(4)}), "stack: shapes [3] and [4] differ");
  THROWS(ShapeError, stack({}), "stack: expected at least one tensor");
  BOOST_CHECK_THROW(stack({a, b}, 2), IndexError);
}

BOOST_AUTO_TEST_CASE(one_op_whatever_the_number_of_parts) {
  for (const int n : {2, 8, 64, 1000})
    for (const bool computed : {false, true}) {
      std::vector<Tensor> parts;
      for (int i = 0; i < n; ++i) {
        parts.push_back(full({1 + i % 3, 2}, i).copy());
        parts.back().eval();
        if (computed && i % 4) parts.back() = parts.back() * 2;
      }
      reset_metrics();
      const Tensor all = concat(parts);
      const std::vector<double> v = astype(all, float64).to_vector<double>();
      size_t at = 0;
      bool right = true;
      for (int i = 0; i < n; ++i)
        for (int k = 0; k < 2 * (1 + i % 3); ++k) right &= v[at++] == i * (computed && i % 4 ? 2 : 1);
      BOOST_TEST((right && at == v.size()));
      if (!computed && n > 64)
        BOOST_TEST(metrics().calls + metrics().call_fallbacks == 1u);  // a GPU has no kernel for it
    }
}

BOOST_AUTO_TEST_CASE(every_element_size_axis_and_thread) {
  for (int t = 0; t < kDTypeCount; ++t)
    for (int axis = 0; axis < 3; ++axis)
      for (const int64_t n : {1, 2, 3, 40}) {
        Shape a{5, 7, 4}, b = a;
        a[axis] = n, b[axis] = n + 1;
        const auto type = static_cast<DType>(t);
        const Tensor x = astype(arange(numel(a)) % 2, type).reshape(a).copy(),
                     y = astype(arange(numel(b)) % 3, type).reshape(b).copy();
        x.eval(), y.eval();
        const Tensor all = swapaxes(concat({x, y, x}, axis), 0, axis);
        equal(all(slice(0, n)), type, swapaxes(x, 0, axis).shape(),
              astype(swapaxes(x, 0, axis), float64).to_vector<double>());
        equal(all(slice(n, 2 * n + 1)), type, swapaxes(y, 0, axis).shape(),
              astype(swapaxes(y, 0, axis), float64).to_vector<double>());
      }
  const Tensor large = arange(0, 300000, 1, float32).copy();
  large.eval();
  for (const char* threads : {"1", "3"}) {
    const config::Override number("LAZY_NUM_THREADS", threads);
    const Tensor flat = concat({large, large, large}), rows = stack({large, large}, 1);
    BOOST_TEST(flat(899999).item<float>() == 299999.f);
    BOOST_TEST(flat(300000).item<float>() == 0.f);
    BOOST_TEST(sum(rows(_, 0) != rows(_, 1)).item<int64_t>() == 0);
    BOOST_TEST(rows(299999, 1).item<float>() == 299999.f);
  }
}

BOOST_AUTO_TEST_SUITE_END()
