#include "lazy/ops/matmul.hpp"

#include "support/config.hpp"
#include "tests/common/check.hpp"

using namespace lazy;
using check::equal;
using config::Override;

namespace {

Tensor wave(const Shape& shape, double frequency, DType type = float32) {
  return astype(sin(arange(0, static_cast<double>(numel(shape)), 1, float32) * frequency), type)
      .reshape(shape)
      .eval();
}

std::vector<double> bits(const Tensor& x) { return x.to_vector<double>(); }

}  // namespace

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
  // Bools give true if any product is true, as in NumPy; beside numbers they count as 0 and 1.
  const Tensor t = tensor({{true, false}, {false, true}}), u = tensor({true, false});
  equal(vecdot(t, u), bool_, {2}, {1, 0});
  equal(vecdot(t, t), bool_, {2}, {1, 1});
  equal(vecdot(t, full({2}, 300)), int64, {2}, {300, 300});
  equal(vecdot(tensor({0.5f, 2.0f}), t), float32, {2}, {0.5, 2});
  equal(vecdot(zeros({0}, bool_), ones({0}, bool_)), bool_, {}, {0});
  THROWS(Error, vecdot(t, 1), "vecdot: a tensor is needed here, not a scalar");
  THROWS(ShapeError, vecdot(zeros({3}), zeros({2})),
         "vecdot: shapes [3] and [2] do not fit: the extents of the summed axis differ");
  THROWS(IndexError, vecdot(zeros({3}), zeros({3}), 0),
         "vecdot: the axis counts from the end: it is negative, not 0");
}

BOOST_AUTO_TEST_CASE(a_matrix_along_the_sum_is_summed_in_lanes) {
  for (const DType t : {float32, float64, bfloat16, float16})
    for (const auto& [m, k] :
         {std::pair<int64_t, int64_t>{2, 1}, {2, 2}, {7, 63}, {37, 130}, {0, 5}, {3, 0}}) {
      const Tensor a = wave({m, k}, 0.37, t), x = wave({k}, 0.73, t);
      const DType wide = t == float64 ? float64 : float32;
      const Tensor expected =
          k == 1 ? (a * x).reshape({m}) : sum(a.astype(wide) * x.astype(wide), {-1}).astype(t);
      BOOST_TEST(bits(matmul(a, x)) == bits(expected));
      BOOST_TEST(bits(matmul(x, a.T())) == bits(expected));
      BOOST_TEST(bits(matmul(x.reshape({1, 1, k}), a.T())) == bits(expected));
      BOOST_TEST(bits(matmul(a.reshape({1, m, k}), x.reshape({k, 1}))) == bits(expected));
    }
}

// The views that a program records decide the order of the sum, not the layout in memory.
BOOST_AUTO_TEST_CASE(a_transposed_matrix_keeps_its_order_wherever_it_is_computed) {
  const Tensor a = wave({130, 70}, 0.37), x = wave({130}, 0.73), two = wave({130, 2}, 0.73);
  const auto one_after_the_other = bits(matmul(reshape(x, {1, 130}), a));  // the columns are apart
  const auto products = [&] {
    std::vector<std::vector<double>> r;
    const Tensor pending = a * 1, view = pending.T(), computed = view + 0;
    r.push_back(bits(matmul(view, x)));
    const Tensor kept = (a * 1).T();
    kept.eval();
    r.push_back(bits(matmul(kept, x)));
    r.push_back(bits(matmul(kept + 0, x)));
    r.push_back(bits(matmul(computed, x)));
    r.push_back(bits(matmul(computed(ellipsis, slice(0, none, 2)), x(slice(0, none, 2)))));
    r.push_back(bits(matmul(computed, two(_, 1))));
    r.push_back(bits(matmul(reshape(computed, {35, 2, 130}), x)));
    return r;
  };
  const auto fused = products();
  BOOST_TEST(fused[0] == one_after_the_other);
  BOOST_TEST(fused[1] == one_after_the_other);
  BOOST_TEST(fused[2] == bits(sum((a.T() + 0) * x, {-1})));
  BOOST_TEST(fused[2] == fused[3]);
  const Override eager("LAZY_EAGER", "1");
  const auto one_by_one = products();
  for (size_t i = 0; i < fused.size(); ++i) BOOST_TEST(fused[i] == one_by_one[i], "product " << i);
}

BOOST_AUTO_TEST_SUITE_END()
