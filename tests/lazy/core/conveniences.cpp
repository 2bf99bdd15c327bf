// Tests short forms: members, constants, open slices, x[i], loops over rows, and names of NumPy's and
// torch's.
#include <sstream>

#include "jit/key/report.hpp"
#include "tests/common/check.hpp"

using namespace lazy;
using check::equal;
using check::NaN;
using check::same;

namespace {

const Tensor& counted() {
  static const Tensor x = (reshape(arange(24), {2, 3, 4}) * 0.25 - 1).eval();
  return x;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(conveniences)

BOOST_AUTO_TEST_CASE(constants) {
  static_assert(pi > 3.14159265358979 && pi < 3.1415926535898 && e > 2.718281828459 && e < 2.71828182845905);
  equal(full({2}, inf), float32, {2}, {inf, inf});
  equal(floor(counted()(0, 0, slice(0, 2)) * pi), float32, {2}, {-4, -3});
}

BOOST_AUTO_TEST_CASE(sixteen_bit_values_are_numbers) {
  const float16_t a = 1.5f, b = 2;
  const bfloat16_t c = 3;
  BOOST_TEST((a < b && b > a && a <= a && a != b && a == 1.5f && 1.5 == a && c == 3 && a < c && b < 3));
  BOOST_TEST((a * b == 3.0f && 2 * a == c && a - b == -0.5f && c / b == a && a + 1e-9 > a));
  BOOST_TEST(!(std::numeric_limits<float16_t>::quiet_NaN() == std::numeric_limits<float16_t>::quiet_NaN()));
  static_assert(std::is_same_v<decltype(a * c), float> && std::is_same_v<decltype(a * 2.0), double>);
  static_assert(sizeof(a) == 2 && std::is_trivially_copyable_v<float16_t>);
  equal(a * full({2}, b), float16, {2}, {3, 3});
}

BOOST_AUTO_TEST_CASE(members_are_the_functions) {
  const Tensor &x = counted(), m = x(0), i = tensor({2, 0});
  BOOST_TEST((x.numel() == 24 && x.dim() == 3));
  same(x.clone(), x);
  same(x.contiguous(), x);
  BOOST_TEST(x.contiguous().handle().get() == x.handle().get());
  same(x.view({6, -1}), reshape(x, {6, 4}));
  same(x.to(float64), astype(x, float64));
  same(x.expand({2, 2, -1, -1}), expand(x, {2, 2, -1, -1}));
  same(x.tile({2, 1}), tile(x, {2, 1}));
  same(x.flip(), flip(x));
  same(x.flip({0, 2}), flip(x, {0, 2}));
  same(x.cumprod(1), cumprod(x, 1));
  same(x.ptp(), ptp(x));
  same(x.norm(), norm(x));
  same(x.norm(1, {0, 2}, keepdims), norm(x, 1, {0, 2}, keepdims));
  same(m.trace(1), trace(m, 1));
  same(x.diagonal(0, 1, 2), diagonal(x, 0, 1, 2));
  same(m.t(), transpose(m));
  same(m(0).t(), m(0));
  same(m.matmul(m.t()), matmul(m, transpose(m)));
  same(m.mm(m.t()), mm(m, transpose(m)));
  same(x.pow(2), square(x));
  same(x.square(), square(x));
  same(x.clamp(-0.5, 2), clip(x, -0.5, 2));
  same(x.abs(), abs(x));
  same(x.abs().sqrt(), sqrt(abs(x)));
  same(x.exp(), exp(x));
  same(x.abs().log(), log(abs(x)));
  same(x.tanh(), tanh(x));
  same(x.sigmoid(), sigmoid(x));
  same(x.relu(), relu(x));
  same(x.softmax(-1), softmax(x, -1));
  same(x.log_softmax(1), log_softmax(x, 1));
  same(x.argsort(-1, true), argsort(x, -1, true));
  const auto [values, order] = x.sort(1, true);
  same(values, sort(x, 1, true).values);
  same(order, sort(x, 1, true).indices);
  same(x.topk(2, 0).values, topk(x, 2, 0).values);
  same(x.topk(1, 2, false).indices, topk(x, 1, 2, false).indices);
  same(m.take(i, 0), take(m, i, 0));
  same(m.gather(1, zeros({3, 1}, int64)), gather(m, 1, zeros({3, 1}, int64)));
  same(x.masked_fill(x < 0, 9), masked_fill(x, x < 0, 9));
  BOOST_TEST(m.nonzero().size() == 2u);
  same(m.nonzero()[1], nonzero(m)[1]);
}

/// A member of a temporary takes its value over: the flush stores nothing but the result.
BOOST_AUTO_TEST_CASE(members_of_temporaries_keep_nothing) {
  const Tensor x = counted() + 0;
  const Tensor y = (x * 2).exp().sqrt().view({-1}).softmax(0).pow(2).to(float64);
  jit::FlushListener listener;
  y.eval();
  BOOST_REQUIRE_EQUAL(listener.flushes.size(), 1u);
  BOOST_TEST(listener.flushes[0].outputs == 2u);  // x and y
}

BOOST_AUTO_TEST_CASE(open_slices) {
  const Tensor x = arange(5);
  equal(x(slice(1, _)), int64, {4}, {1, 2, 3, 4});
  equal(x(slice(_, 2)), int64, {2}, {0, 1});
  equal(x(slice(_, _, -2)), int64, {3}, {4, 2, 0});
  equal(x(slice()), int64, {5}, {0, 1, 2, 3, 4});
}

BOOST_AUTO_TEST_CASE(square_brackets) {
  Tensor x = reshape(arange(6), {2, 3});
  equal(x[0], int64, {3}, {0, 1, 2});
  equal(x[-1][1], int64, {}, {4});
  equal((x + 1)[1], int64, {3}, {4, 5, 6});
  equal(x[slice(1, _)], int64, {1, 3}, {3, 4, 5});
  equal(x[{1, 0}], int64, {2, 3}, {3, 4, 5, 0, 1, 2});
  equal(x[tensor({1})], int64, {1, 3}, {3, 4, 5});
  equal(x[x > 2], int64, {3}, {3, 4, 5});
  x[0] = 7;
  x[x > 4] += 1;
  equal(x, int64, {2, 3}, {8, 8, 8, 3, 4, 6});
  const Tensor& unchanging = x;
  equal(unchanging[1], int64, {3}, {3, 4, 6});
}

BOOST_AUTO_TEST_CASE(loops_go_along_rows) {
  Tensor x = reshape(arange(6), {3, 2});
  std::vector<Tensor> rows;
  for (Tensor row : x) {
    x = zeros({1}, int64);  // the loop has its own
    rows.push_back(row * 10);
  }
  BOOST_REQUIRE_EQUAL(rows.size(), 3u);
  equal(rows[2], int64, {2}, {40, 50});
  int64_t total = 0;
  for (const Tensor& element : arange(4) + 1) total += element.item<int64_t>();
  BOOST_TEST(total == 10);
  for (const Tensor& row : zeros({0, 4})) BOOST_ERROR(to_string(row.shape()));
  BOOST_CHECK_THROW(for (const Tensor& row : full({}, 1))(void) row, ShapeError);
}

BOOST_AUTO_TEST_CASE(axes_by_two_numbers) {
  const Tensor& x = counted();
  same(transpose(x, 0, 2), swapaxes(x, 0, 2));
  same(x.transpose(-1, 1), swapaxes(x, 1, 2));
  same(x.flatten(1), reshape(x, {2, 12}));
  same(flatten(x, 0, 1), reshape(x, {6, 4}));
  same(flatten(x, -2, -2), x);
  same(flatten(full({}, 3), 0), full({1}, 3));
  same(flatten(zeros({2, 0, 3}), 1), zeros({2, 0}));
  THROWS(IndexError, flatten(x, 2, 0), "flatten: axis 2 comes after axis 0 of [2, 3, 4]");
}

/// numpy.round of the same numbers; float32 ones by numpy.float32.
BOOST_AUTO_TEST_CASE(rounding_to_decimals) {
  equal(round(tensor({1.25, -1.35, 2.5, 1234.5678, -0.04}, float64), 1), float64, {5},
        {1.2, -1.4, 2.5, 1234.6, -0.0});
  equal(round(tensor({1234.5, 1250.0, -1350.0, 49.0}, float64), -2), float64, {4}, {1200, 1200, -1400, 0});
  equal(round(tensor({0.125f, 0.375f, 2.0f}), 2), float32, {3}, {0.12f, 0.38f, 2});
  equal(round(tensor({NaN, inf, -inf}), 3), float32, {3}, {NaN, inf, -inf});
  equal(round(tensor({15, -7}), 2), int64, {2}, {15, -7});
  equal(round(tensor({2.5, 3.5}), 0), float32, {2}, {2, 4});
  equal(round(astype(tensor({0.126f, 3.14159f}), float16), 2), float16, {2}, {0.1300048828125, 3.140625});
  equal(round(zeros({0, 3}), 2), float32, {0, 3}, {});
}

BOOST_AUTO_TEST_CASE(conditions_alone) {
  const auto at = where(tensor({{0, 3}, {5, 0}}) > 0);
  BOOST_REQUIRE_EQUAL(at.size(), 2u);
  equal(at[0], int64, {2}, {0, 1});
  equal(at[1], int64, {2}, {1, 0});
}

BOOST_AUTO_TEST_CASE(classes_that_are_read) {
  equal(one_hot(tensor({1, 0, 2})), int64, {3, 3}, {0, 1, 0, 1, 0, 0, 0, 0, 1});
  equal(one_hot(tensor<uint8_t>({0})), int64, {1, 1}, {1});
  THROWS(IndexError, one_hot(tensor({1, -2})), "one_hot: id -2 is negative");
  THROWS(ShapeError, one_hot(zeros({0}, int64)), "one_hot: no ids [0] tell no number of classes: give it");
}

BOOST_AUTO_TEST_CASE(pools_by_rank) {
  const Tensor image = reshape(arange(32), {1, 2, 4, 4}) * 0.5, line = image(0), volume = image(newaxis);
  same(max_pool1d(line, 2), max_pool(line, 2));
  same(max_pool2d(image, 2, {.padding = 1}), max_pool(image, 2, {.padding = 1}));
  same(max_pool3d(volume, {1, 2, 2}), max_pool(volume, {1, 2, 2}));
  same(avg_pool1d(line, 2), avg_pool(line, 2));
  same(avg_pool2d(image, 2), avg_pool(image, 2));
  same(avg_pool3d(volume, {1, 2, 2}), avg_pool(volume, {1, 2, 2}));
  same(adaptive_avg_pool1d(line, 3), adaptive_avg_pool(line, 3));
  same(adaptive_avg_pool2d(image, {1, 3}), adaptive_avg_pool(image, {1, 3}));
  same(adaptive_avg_pool3d(volume, 1), adaptive_avg_pool(volume, 1));
  same(adaptive_max_pool1d(line, 3), adaptive_max_pool(line, 3));
  same(adaptive_max_pool2d(image, 2), adaptive_max_pool(image, 2));
  same(adaptive_max_pool3d(volume, {2, 1, 1}), adaptive_max_pool(volume, {2, 1, 1}));
  THROWS(ShapeError, max_pool2d(line, 2), "max_pool2d: takes an image of 4 axes, not [2, 4, 4]");
}

BOOST_AUTO_TEST_CASE(joins_by_numpys_name) {
  const Tensor x = ones({2, 2});
  same(concatenate({x, x}, 1), concat({x, x}, 1));
  same(concatenate({x, x}, none), concat({x, x}, none));
}

BOOST_AUTO_TEST_CASE(a_truth_value_of_many_elements) {
  const Tensor x = ones({2, 3});
  const unsigned made = __LINE__ - 1;
  try {
    if (x) BOOST_ERROR("it is true");
    BOOST_ERROR("nothing was thrown");
  } catch (const ShapeError& error) {
    BOOST_TEST(
        error.what() ==
        "bool: needs a tensor with one element, not [2, 3], which was made here: any() or all() make one "
        "of several, and & or | stand for && or || between tensors (conveniences.cpp:" +
            std::to_string(made) + ")");
  }
}

BOOST_AUTO_TEST_SUITE_END()
