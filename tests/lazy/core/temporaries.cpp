// Tests that a temporary's value is not stored: only variables keep their values.
#include <functional>

#include "tests/common/check.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(temporaries)

namespace {
constexpr int64_t n = 10000;
constexpr uint64_t kBytes = n * 4;

Tensor input(float v) { return from_span(std::vector<float>(n, v)); }

/// Returns the bytes that the statement had allocated at its peak, beyond those before it.
uint64_t peak(const std::function<void()>& statement) {
  reset_metrics();
  const uint64_t before = metrics().bytes_live;
  statement();
  return metrics().bytes_peak - before;
}
}  // namespace

BOOST_AUTO_TEST_CASE(one_statement_keeps_its_result_only) {
  const Tensor x = input(0.5f), y = input(2);
  BOOST_TEST(peak([&] { (sin(x) * 2).eval(); }) == kBytes);
  BOOST_TEST(peak([&] { exp(sin(x)).eval(); }) == kBytes);
  BOOST_TEST(peak([&] { fma(sin(x), cos(x), exp(y)).eval(); }) == kBytes);
  BOOST_TEST(peak([&] { clip(sin(x), 0, 1).eval(); }) == kBytes);
  BOOST_TEST(peak([&] { where(x < y, sin(x), cos(x)).eval(); }) == kBytes);
  BOOST_TEST(peak([&] { pow(sin(x), 2).eval(); }) == kBytes);
  BOOST_TEST(peak([&] { square(sin(x)).reshape({100, 100}).eval(); }) == kBytes);
  BOOST_TEST(peak([&] { (-sin(x)).astype(float32).clip(-1, 1).eval(); }) == kBytes);
  BOOST_TEST(peak([&] { (x * y).sum().item<float>(); }) < kBytes);
  BOOST_TEST(peak([&] { sum(x * y).item<float>(); }) < kBytes);
  BOOST_TEST(peak([&] { mean(abs(x - y)).item<float>(); }) < kBytes);
  BOOST_TEST(peak([&] { sqrt(vecdot(x - y, x - y)).item<float>(); }) < kBytes);
}

BOOST_AUTO_TEST_CASE(a_variable_keeps_its_value) {
  const Tensor x = input(0.5f);
  const Tensor s = sin(x);
  BOOST_TEST(peak([&] { (s * 2).eval(); }) == 2 * kBytes);
  BOOST_TEST(peak([&] { (s * 2).eval(); }) == kBytes);  // s exists already
  BOOST_TEST(s.to_vector<float>()[0] == std::sin(0.5f), boost::test_tools::tolerance(1e-6f));
}

// Every function gives the same for temporaries as for variables: none reads an operand again after moving
// it.
BOOST_AUTO_TEST_CASE(every_function_takes_temporaries) {
  const Tensor a = tensor({{0.25f, 0.5f}, {0.75f, 0.125f}}), b = tensor({{0.5f, 0.25f}, {1.0f, 0.75f}});
  const Tensor i = tensor({{5, 3}, {2, 7}}), j = tensor({{1, 2}, {3, 1}}), v = tensor({1.0f, 2.0f});
  const auto copy = [](const Tensor& x) { return x; };
#define SAME1(f, x) check::same(f(copy(x)), f(x))
#define SAME2(f, x, y)                                                            \
  check::same(f(copy(x), copy(y)), f(x, y)), check::same(f(copy(x), y), f(x, y)), \
      check::same(f(x, copy(y)), f(x, y))
  SAME2(add, a, b), SAME2(subtract, a, b), SAME2(multiply, a, i), SAME2(divide, a, b),
      SAME2(floor_divide, i, j);
  SAME2(remainder, i, j), SAME2(pow, a, b), SAME2(maximum, a, b), SAME2(minimum, a, i), SAME2(atan2, a, b);
  SAME2(hypot, a, b), SAME2(copysign, a, b), SAME2(logaddexp, a, b), SAME2(equal, a, b),
      SAME2(not_equal, a, b);
  SAME2(less, i, j), SAME2(less_equal, i, j), SAME2(greater, i, j), SAME2(greater_equal, i, j);
  SAME2(logical_and, i, j), SAME2(logical_or, i, j), SAME2(logical_xor, i, j), SAME2(bitwise_and, i, j);
  SAME2(bitwise_or, i, j), SAME2(bitwise_xor, i, j), SAME2(bitwise_left_shift, i, j);
  SAME2(bitwise_right_shift, i, j), SAME2(matmul, a, b), SAME2(matmul, i, j), SAME2(dot, v, v);
  SAME2(outer, v, v), SAME2(vecdot, a, b);
  check::same(pow(copy(a), 2), a * a), check::same(pow(copy(i), 2), i * i);
  check::same(fma(copy(a), copy(b), copy(a)), fma(a, b, a));
  check::same(where(copy(i) > 2, copy(a), copy(b)), where(i > 2, a, b));
  check::same(clip(copy(a), copy(b), copy(b) + 1), clip(a, b, b + 1));
  check::same(clip(copy(a), none, copy(b)), clip(a, none, b)),
      check::same(clip(copy(a), copy(b), none), clip(a, b, none));
  SAME1(negative, a), SAME1(positive, a), SAME1(abs, a), SAME1(sign, a), SAME1(square, a),
      SAME1(reciprocal, a);
  SAME1(relu, a), SAME1(ceil, a), SAME1(floor, a), SAME1(trunc, a), SAME1(round, a), SAME1(sqrt, a);
  SAME1(rsqrt, a), SAME1(exp, i), SAME1(gelu, a), SAME1(isnan, a), SAME1(isinf, i), SAME1(isfinite, a);
  SAME1(signbit, a), SAME1(signbit, i), SAME1(logical_not, a), SAME1(bitwise_invert, i), SAME1(sum, a);
  SAME1(prod, a), SAME1(mean, a), SAME1(var, a), SAME1(lazy::std, a), SAME1(max, a), SAME1(min, a),
      SAME1(any, a);
  SAME1(all, a), SAME1(argmax, a), SAME1(argmin, a), SAME1(logsumexp, a), SAME1(count_nonzero, a);
  SAME1(cumsum, a), SAME1(cumulative_sum, v), SAME1(cumulative_prod, v), SAME1(transpose, a),
      SAME1(matrix_transpose, a), SAME1(squeeze, a);
  SAME1(flip, a), SAME1(flatten, a), SAME1(tril, a), SAME1(triu, a), SAME1(zeros_like, a),
      SAME1(ones_like, a);
  SAME1(empty_like, a), SAME1(asarray, a);
#undef SAME1
#undef SAME2
  check::same(full_like(copy(a), 3), full_like(a, 3)),
      check::same(astype(copy(a), float64), astype(a, float64));
  check::same(reshape(copy(a), {4}), reshape(a, {4})), check::same(permute_dims(copy(a), {1, 0}), a.T());
  check::same(swapaxes(copy(a), 0, 1), a.T()), check::same(moveaxis(copy(a), 0, 1), a.T());
  check::same(expand_dims(copy(a), 0), a.unsqueeze(0)),
      check::same(broadcast_to(copy(v), {2, 2}), broadcast_to(v, {2, 2}));
  check::same(copy(a).dot(copy(b)), a.dot(b)), check::same(copy(a).clip(copy(b), 1), a.clip(b, 1));
  check::same(copy(a).T().std({0}).sum(), a.T().std({0}).sum());
  check::same((copy(a) + 1)(0, _).sum(), (a + 1)(0, _).sum());
}

BOOST_AUTO_TEST_SUITE_END()
