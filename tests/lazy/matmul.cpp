#include "lazy/matmul.hpp"

#include "tests/lazy/check.hpp"

using namespace lazy;
using check::equal;

BOOST_AUTO_TEST_SUITE(products)

BOOST_AUTO_TEST_CASE(matrices_and_vectors) {
  const Tensor a = tensor({{1, 2, 3}, {4, 5, 6}}), b = tensor({{1, 0}, {0, 1}, {1, 1}}),
               v = tensor({1, 2, 3}), w = tensor({1, -1});
  equal(matmul(a, b), int64, {2, 2}, {4, 5, 10, 11});
  equal(matmul(a, v), int64, {2}, {14, 32});
  equal(matmul(w, a), int64, {3}, {-3, -3, -3});
  equal(matmul(v, v), int64, {}, {14});
  equal(matmul(a, a.T()), int64, {2, 2}, {14, 32, 32, 77});
  equal(matmul(a, b.astype(float32)), float32, {2, 2}, {4, 5, 10, 11});
  equal(matmul(a > 3, b > 0), bool_, {2, 2}, {0, 0, 1, 1});
  equal(matmul(zeros({2, 0}), zeros({0, 3})), float32, {2, 3}, std::vector<double>(6, 0));
  equal(matmul(zeros({0, 2}), zeros({2, 3})), float32, {0, 3}, {});
  equal(matmul(full({1, 300}, 1, float16), full({300, 1}, 0.5, float16)), float16, {1, 1}, {150});
}

BOOST_AUTO_TEST_CASE(batches) {
  const Tensor a = arange(8).reshape({2, 2, 2}), e = eye(2, 2, 0, int64);
  equal(matmul(a, e), int64, {2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  equal(matmul(e, a), int64, {2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  equal(matmul(a, tensor({1, 1})), int64, {2, 2}, {1, 5, 9, 13});
  equal(matmul(tensor({1, 1}), a), int64, {2, 2}, {2, 4, 10, 12});
  BOOST_TEST((matmul(zeros({3, 1, 2, 4}), zeros({5, 4, 6})).shape() == Shape{3, 5, 2, 6}));
}

BOOST_AUTO_TEST_CASE(wrong_shapes) {
  const Tensor a = zeros({2, 3});
  THROWS(ShapeError, matmul(a, a), "matmul: shapes [2, 3] and [2, 3] do not fit: the inner extents differ");
  THROWS(ShapeError, matmul(a, zeros({2})),
         "matmul: shapes [2, 3] and [2] do not fit: the inner extents differ");
  THROWS(ShapeError, matmul(a, 2.0), "matmul: shapes [2, 3] and [] do not fit: a 0-d operand (use multiply)");
  THROWS(ShapeError, matmul(zeros({2, 2, 3}), zeros({3, 3, 1})),
         "matmul: shapes [2, 2, 3] and [3, 3, 1] do not fit: the leading extents do not broadcast");
  THROWS(DtypeError, matmul(zeros({1, 1}, uint64), zeros({1, 1}, int8)),
         "matmul: uint64 and int8 have no common dtype: convert one with astype");
}

BOOST_AUTO_TEST_CASE(composed) {
  equal(dot(tensor({1, 2}), tensor({3, 4})), int64, {}, {11});
  equal(dot(tensor({1, 2}), 3), int64, {2}, {3, 6});
  equal(tensor({{1, 2}}).dot(tensor({3, 4})), int64, {1}, {11});
  equal(outer(tensor({1, 2}), tensor({3, 4, 5})), int64, {2, 3}, {3, 4, 5, 6, 8, 10});
  equal(vecdot(tensor({{1, 2}, {3, 4}}), tensor({1, 10})), int64, {2}, {21, 43});
  equal(vecdot(tensor({{1, 2}, {3, 4}}), tensor({{1, 1}, {10, 10}}), -2), int64, {2}, {31, 42});
  equal(vecdot(full({2}, 100, int8), full({2}, 1, int8)), int8, {}, {-56});
  THROWS(ShapeError, vecdot(zeros({3}), zeros({2})),
         "vecdot: shapes [3] and [2] do not fit: the extents of the summed axis differ");
  THROWS(IndexError, vecdot(zeros({3}), zeros({3}), 0),
         "vecdot: the axis counts from the end: it is negative, not 0");
}

BOOST_AUTO_TEST_SUITE_END()
