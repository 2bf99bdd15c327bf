#include "lazy/ops/einsum.hpp"

#include "tests/common/check.hpp"

using namespace lazy;
using check::equal;

namespace {

/// Compares small integers in float64: exact in any order.
void same(const Tensor& x, const Tensor& expected, const Site& s = Site::current()) {
  equal(x, expected.dtype(), expected.shape(), expected.to_vector<double>(), s);
}
Tensor count(ShapeArg shape, int64_t from = 0) {
  return arange(from, from + numel(shape), 1, float64).reshape(shape);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(einstein_sums)

BOOST_AUTO_TEST_CASE(two_factors) {
  const Tensor a = count({3, 4}), b = count({4, 5}, 7), c = count({2, 3, 4}), d = count({2, 5, 4});
  same(einsum("ij,jk->ik", {a, b}), matmul(a, b));
  same(einsum("ij, jk", {a, b}), matmul(a, b));
  same(einsum("ij,jk->ik", a, b), matmul(a, b));
  same(einsum("ij->ji", a), a.T());
  same(einsum("ij,jk->ki", {a, b}), matmul(a, b).T());
  same(einsum("bij,bkj->bik", {c, d}), matmul(c, matrix_transpose(d)));
  same(einsum("bij,bkj->kbi", {c, d}), permute_dims(matmul(c, matrix_transpose(d)), {2, 0, 1}));
  same(einsum("ij,ij->", {a, a}), sum(a * a));
  same(einsum("ij,ij->ij", {a, a}), a * a);
  same(einsum("ij,j->i", {a, count({4})}), matmul(a, count({4})));
  same(einsum("i,j->ji", {count({3}), count({2}, 1)}), outer(count({2}, 1), count({3})));
  same(einsum("ij,kl->", {a, b}), sum(a) * sum(b));
  same(einsum("bij,ik->bkj", {c, a}), permute_dims(matmul(matrix_transpose(c), a), {0, 2, 1}));
  same(einsum("abc,dcb->ad", {c, count({6, 4, 3})}),
       matmul(c.reshape({2, 12}), permute_dims(count({6, 4, 3}), {0, 2, 1}).reshape({6, 12}).T()));
}

BOOST_AUTO_TEST_CASE(one_factor_and_many) {
  const Tensor a = count({3, 4}), s = count({3, 3});
  same(einsum("ij->ji", {a}), a.T());
  same(einsum("ba", {a}), a.T());
  same(einsum("ij->j", {a}), sum(a, {0}));
  same(einsum("ii->i", {s}), count({9})(slice(0, none, 4)));
  same(einsum("ii", {s}), sum(count({9})(slice(0, none, 4))));
  same(einsum("iji->ij", {count({2, 3, 2})}), tensor({{0.0, 2.0, 4.0}, {7.0, 9.0, 11.0}}, float64));
  same(einsum("iii->i", {count({2, 2, 2})}), tensor({0.0, 7.0}, float64));
  const Tensor b = count({4, 2}), c = count({2, 5}), v = count({5});
  same(einsum("ij,jk,kl->il", {a, b, c}), matmul(matmul(a, b), c));
  same(einsum("ij,jk,kl,l->i", {a, b, c, v}), matmul(matmul(matmul(a, b), c), v));
  same(einsum("ij,ij,ij->ij", {a, a, a}), a * a * a);
  same(einsum("i,i,i->", {v, v, v}), sum(v * v * v));
}

BOOST_AUTO_TEST_CASE(dtypes_and_empty) {
  equal(einsum("i,i->", {full({2}, 100, int8), full({2}, 1, int8)}), int8, {}, {-56});
  equal(einsum("i,i->i", {full({2}, 3, int8), full({2}, 2, int32)}), int32, {2}, {6, 6});
  equal(einsum("ij,jk->ik", {eye(2) > 0, eye(2) > 0}), bool_, {2, 2}, {1, 0, 0, 1});
  equal(einsum("ij,jk->ik", {zeros({2, 0}), zeros({0, 3})}), float32, {2, 3}, std::vector<double>(6, 0));
  equal(einsum("ii->i", {zeros({0, 0})}), float32, {0}, {});
}

BOOST_AUTO_TEST_CASE(wrong_subscripts) {
  const Tensor a = zeros({2, 3});
  THROWS(ShapeError, einsum("...i->i", {a}),
         "einsum: \"...i->i\": an ellipsis is not supported: name the axes");
  THROWS(ShapeError, einsum("i1->i", {a}), "einsum: \"i1->i\": axes are letters, not '1'");
  THROWS(ShapeError, einsum("ij,jk->ik", {a}), "einsum: \"ij,jk->ik\" names 2 operands, but there are 1");
  THROWS(ShapeError, einsum("i->i", {a}),
         "einsum: \"i->i\": \"i\" is 1 axes, but the operand has shape [2, 3]");
  THROWS(ShapeError, einsum("ij->k", {a}), "einsum: \"ij->k\": no operand has the result's axis k");
  THROWS(ShapeError, einsum("ij->ii", {a}), "einsum: \"ij->ii\": the result has axis i twice");
  THROWS(ShapeError, einsum("ii->i", {a}), "einsum: axes i of shape [2, 3] differ");
  THROWS(ShapeError, einsum("ij,jk->ik", {a, a}),
         "einsum: \"ij,jk->ik\": axis j is 3 in shape [2, 3] and 2 in shape [2, 3]");
}

BOOST_AUTO_TEST_CASE(tensordots) {
  const Tensor a = count({2, 3, 4}), b = count({3, 4, 5});
  same(tensordot(a, b), matmul(a.reshape({2, 12}), b.reshape({12, 5})));
  same(tensordot(a, count({4, 2}), 1), matmul(a, count({4, 2})));
  equal(tensordot(count({2}), count({3}, 1), 0), float64, {2, 3}, {0, 0, 0, 1, 2, 3});
  same(tensordot(a, count({4, 6, 3}), {2, 1}, {0, -1}), einsum("iab,bka->ik", {a, count({4, 6, 3})}));
  THROWS(ShapeError, tensordot(a, b, 4), "tensordot: 4 axes of operands with 3 and 3");
  THROWS(ShapeError, tensordot(a, b, {0}, {0}),
         "tensordot: shapes [2, 3, 4] and [3, 4, 5]: axes 0 and 0 differ");
  THROWS(ShapeError, tensordot(a, b, {0, 1}, {0}),
         "tensordot: shapes [2, 3, 4] and [3, 4, 5]: 2 axes of one and 1 of the other");
  THROWS(ShapeError, tensordot(a, b, {1, 1}, {0, 0}),
         "tensordot: shapes [2, 3, 4] and [3, 4, 5]: an axis is given twice");
  THROWS(IndexError, tensordot(a, b, {7}, {0}), "tensordot: axis 7 is out of range for 3 dimensions");
}

BOOST_AUTO_TEST_CASE(accumulators_by_dtype) {
  const Tensor a = full({3, 40}, 100, int8), b = full({40, 5}, 50, int8), u = full({40, 5}, 200, uint8);
  equal(matmul(a, b, int32), int32, {3, 5}, std::vector<double>(15, 200000));
  equal(matmul(a, u, int32), int32, {3, 5}, std::vector<double>(15, 800000));
  equal(matmul(full({1, 4}, 300, float16), full({4, 2}, 300, float16), float32), float32, {1, 2},
        {360000, 360000});
}

BOOST_AUTO_TEST_SUITE_END()
