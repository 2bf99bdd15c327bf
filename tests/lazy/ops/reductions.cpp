#include "lazy/ops/reductions.hpp"

#include "tests/common/check.hpp"

using namespace lazy;
using check::close;
using check::equal;
using check::inf;
using check::NaN;

template <class A, class B>
concept HasMax = requires(A a, B b) {
  max(a, b);
};

BOOST_AUTO_TEST_SUITE(reductions)

BOOST_AUTO_TEST_CASE(axes_and_shapes) {
  const Tensor x = arange(24).reshape({2, 3, 4});
  equal(sum(x), int64, {}, {276});
  equal(x.sum(0), int64, {3, 4}, {12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34});
  equal(sum(x, {-1}), int64, {2, 3}, {6, 22, 38, 54, 70, 86});
  equal(sum(x, {0, 2}), int64, {3}, {60, 92, 124});
  equal(sum(x, {2, 1}), int64, {2}, {66, 210});
  equal(sum(x, {0, 1}, keepdims), int64, {1, 1, 4}, {60, 66, 72, 78});
  equal(sum(x, keepdims), int64, {1, 1, 1}, {276});
  equal(sum(x, 1, true), int64, {2, 1, 4}, {12, 15, 18, 21, 48, 51, 54, 57});
  equal(sum(x, {}), int64, {}, {276});
  equal(sum(tensor(5)), int64, {}, {5});
  equal(max(x, {0, 2}), int64, {3}, {15, 19, 23});
  equal(x.min({1}, keepdims), int64, {2, 1, 4}, {0, 1, 2, 3, 12, 13, 14, 15});
  equal(prod(tensor({{1, 2}, {3, 4}}), 0), int64, {2}, {3, 8});
  const Tensor thin = arange(6).reshape({1, 3, 1, 2});  // axes of extent 1 in between
  equal(sum(thin, {1, 3}), int64, {1, 1}, {15});
  equal(sum(thin, {0, 2}), int64, {3, 2}, {0, 1, 2, 3, 4, 5});
  equal(max(thin, {0}, keepdims), int64, {1, 3, 1, 2}, {0, 1, 2, 3, 4, 5});
  THROWS(IndexError, sum(x, 3), "sum: axis 3 is out of range for 3 dimensions");
  THROWS(IndexError, x.mean({0, -3}), "mean: axis -3 is named twice");
  THROWS(IndexError, sum(tensor(1), 0), "sum: axis 0 is out of range for 0 dimensions");
}

BOOST_AUTO_TEST_CASE(types) {
  equal(sum(ones({300}, bool_)), int64, {}, {300});
  equal(sum(full({4}, 100, int8)), int64, {}, {400});
  equal(sum(full({4}, 200, uint8)), uint64, {}, {800});
  equal(sum(ones({3}, float16)), float16, {}, {3});
  equal(sum(ones({3}, int8), {}, dropdims, float64), float64, {}, {3});
  equal(sum(ones({3}, uint8), {}, dropdims, uint8), uint8, {}, {3});
  equal(ones({2, 1}, int16).sum(1), int64, {2}, {1, 1});  // also for a sum of one element
  equal(max(tensor({true, false})), bool_, {}, {1});
  equal(min(tensor({true, false})), bool_, {}, {0});
  equal(argmax(tensor({false, true, true})), int64, {}, {1});
  equal(any(tensor({0.0, NaN})), bool_, {}, {1});
  equal(all(tensor({{1, 2}, {0, 3}}), 1), bool_, {2}, {1, 0});
  equal(count_nonzero(tensor({{1, 0}, {0, 0}}), 0), int64, {2}, {1, 0});
  THROWS(DtypeError, sum(ones({2}), {}, dropdims, bool_), "sum: does not accumulate in bool: use any or all");
}

BOOST_AUTO_TEST_CASE(of_sixteen_bits_over_axes_apart_are_rounded_once) {
  const Tensor row = ones({1, 3, 64}, float16);
  const Tensor large = concat({row * 2000, row * -2000});  // sums of a row are infinite in float16
  BOOST_TEST(sum(large, {0, 2}).to_vector<float>() == std::vector<float>(3, 0),
             boost::test_tools::per_element());
  BOOST_TEST(sum(astype(large, bfloat16), {0, 2}).dtype() == bfloat16);
  const Tensor factors = concat({full({1, 2, 2}, 300, float16), full({1, 2, 2}, 0.015625f, float16)});
  BOOST_TEST(prod(factors, {0, 2}).to_vector<float>() == std::vector<float>(2, 21.96875f),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(of_nothing) {
  const Tensor none = zeros({0, 3});
  equal(sum(none), float32, {}, {0});
  equal(sum(none, 0), float32, {3}, {0, 0, 0});
  equal(sum(none, 1), float32, {0}, {});
  equal(prod(none), float32, {}, {1});
  equal(mean(none, 0), float32, {3}, {NaN, NaN, NaN});
  equal(any(none), bool_, {}, {0});
  equal(all(none), bool_, {}, {1});
  equal(logsumexp(none), float32, {}, {-inf});
  equal(max(none, 1), float32, {0}, {});  // no result, so no error
  equal(cumsum(none, 0), float32, {0, 3}, {});
  THROWS(ShapeError, max(none), "max: no elements along axes [0, 1] of [0, 3]");
  THROWS(ShapeError, min(none, 0), "min: no elements along axes [0] of [0, 3]");
  THROWS(ShapeError, argmax(none, 0), "argmax: no elements along axes [0] of [0, 3]");
  THROWS(ShapeError, argmin(none), "argmin: no elements along axes [0, 1] of [0, 3]");
}

BOOST_AUTO_TEST_CASE(max_of_two_tensors_is_the_larger) {
  Tensor x = tensor({{1.0f, 5.0f}, {NaN, -0.0f}}), y = tensor({3.0f, 2.0f});
  equal(max(x, y), float32, {2, 2}, {3, 5, NaN, 2});
  equal(min(x, y), float32, {2, 2}, {1, 2, NaN, -0.0});
  equal(max(2, y), float32, {2}, {3, 2});
  equal(max(x(0), y * 2), float32, {2}, {6, 5});
  equal(max(tensor({1, 2}), tensor({0.5, 2.5})), float32, {2}, {1, 2.5});
  THROWS(ShapeError, max(x, ones({3})), "maximum: shapes [2, 2] and [3] do not broadcast");
  // An integer is an axis, and nothing else is accepted as a scalar.
  const Tensor z = tensor({{1, 5}, {4, 2}});
  equal(max(z, 0), int64, {2}, {4, 5});
  equal(max(z, {}), int64, {}, {5});
  equal(max(z, {1}), int64, {2}, {5, 4});
  equal(min(z, keepdims), int64, {1, 1}, {1});
  static_assert(!HasMax<Tensor, double> && !HasMax<Tensor, float> && HasMax<Tensor, int> &&
                HasMax<double, Tensor>);
}

BOOST_AUTO_TEST_CASE(moments) {
  const check::DefaultDType doubles(float64);
  const Tensor x = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 9.0}});
  equal(mean(x), float64, {}, {4});
  equal(mean(x, 1, keepdims), float64, {2, 1}, {2, 6});
  close(var(x, 1), {2.0 / 3, 14.0 / 3}, 1e-15);
  close(var(x, 1, dropdims, 1), {1, 7}, 1e-15);
  close(lazy::std(x, 1, dropdims, 1), {1, std::sqrt(7.0)}, 1e-15);
  close(x.std(), {std::sqrt(20.0 / 3)}, 1e-15);
  check::same(stdev(x), x.std());  // std(x) is ambiguous here: std is a namespace
  check::same(stdev(x, {0}, keepdims, 1), x.stdev({0}, keepdims, 1));
  check::same(stdev(x, keepdims), lazy::std(x, keepdims));
  equal(var(tensor({5.0}), {}, dropdims, 1), float64, {}, {NaN});
  equal(mean(tensor({1, 2})), float64, {}, {1.5});
  equal(mean(full({3}, 60000, float16)), float16, {}, {60000});  // the sum is beyond float16
  equal(var(tensor({1.0f, 2.0f})), float32, {}, {0.25});
  BOOST_TEST((x.var(0, keepdims).shape() == Shape{1, 3}));
}

BOOST_AUTO_TEST_CASE(log_of_sums) {
  const check::DefaultDType doubles(float64);
  close(logsumexp(tensor({1000.0, 1000.0})), {1000 + std::log(2.0)}, 1e-15);
  close(logsumexp(tensor({{0.0, 0.0}, {-1000.0, -1000.0}}), 1), {std::log(2.0), -1000 + std::log(2.0)},
        1e-15);
  equal(logsumexp(tensor({-inf, -inf})), float64, {}, {-inf});
  equal(logsumexp(tensor({-inf, inf})), float64, {}, {inf});
  equal(logsumexp(tensor({NaN, 1.0})), float64, {}, {NaN});
  BOOST_TEST((logsumexp(ones({2, 3}), 0, keepdims).shape() == Shape{1, 3}));
}

BOOST_AUTO_TEST_CASE(positions) {
  const Tensor x = tensor({{1, 5, 5}, {7, 0, 7}});
  equal(argmax(x), int64, {}, {3});
  equal(argmax(x, 1), int64, {2}, {1, 0});
  equal(argmin(x, {0}), int64, {3}, {0, 1, 0});
  equal(argmax(x, 1, keepdims), int64, {2, 1}, {1, 0});
  equal(x.argmin({}, keepdims), int64, {1, 1}, {4});
  equal(argmax(tensor({1.0, NaN, 3.0, NaN})), int64, {}, {1});
  equal(argmax(x.reshape({2, 3, 1}), 2), int64, {2, 3}, {0, 0, 0, 0, 0, 0});
  THROWS(ShapeError, argmax(x, {0, 1}), "argmax: works along one axis, not [0, 1]");
}

BOOST_AUTO_TEST_CASE(running) {
  const Tensor x = arange(1, 7).reshape({2, 3});
  equal(cumsum(x), int64, {6}, {1, 3, 6, 10, 15, 21});
  equal(cumsum(x, 0), int64, {2, 3}, {1, 2, 3, 5, 7, 9});
  equal(x.cumsum(-1), int64, {2, 3}, {1, 3, 6, 4, 9, 15});
  equal(cumulative_sum(arange(4)), int64, {4}, {0, 1, 3, 6});
  equal(cumsum(ones({3}, bool_)), int64, {3}, {1, 2, 3});
  equal(cumsum(full({3}, 100, uint8)), uint64, {3}, {100, 200, 300});
  equal(cumsum(ones({2, 1}), 1), float32, {2, 1}, {1, 1});
  equal(cumsum(tensor(5)), int64, {1}, {5});
  equal(cumsum(tensor({-0.0})), float32, {1}, {-0.0});
  equal(cumprod(x, 1), int64, {2, 3}, {1, 2, 6, 4, 20, 120});
  equal(cumprod(tensor({-0.0, 2.0})), float32, {2}, {-0.0, -0.0});
  equal(cumulative_sum(x, 1, {}, true), int64, {2, 4}, {0, 1, 3, 6, 0, 4, 9, 15});
  equal(cumulative_prod(arange(1, 4), {}, float64, true), float64, {4}, {1, 1, 2, 6});
  equal(cumulative_sum(zeros({0, 2}), 0, {}, true), float32, {1, 2}, {0, 0});
  equal(cumulative_sum(zeros({2, 0}), 0, {}, true), float32, {3, 0}, {});
  equal(cummax(tensor({false, true, false})).values, bool_, {3}, {0, 1, 1});
  equal(cummin(tensor({true, false, true})).indices, int64, {3}, {0, 1, 1});
  equal(cummax(tensor({2, 1, 2, 3, 0})).indices, int64, {5}, {0, 0, 2, 3, 3});
  equal(cummin(tensor({1.0, NaN, 0.0, NaN, 2.0})).values, float32, {5}, {1, NaN, NaN, NaN, NaN});
  equal(cummin(tensor({1.0, NaN, 0.0, NaN, 2.0})).indices, int64, {5}, {0, 1, 1, 3, 3});
  equal(cummax(tensor({-inf, -0.0, 0.0, inf})).values, float32, {4}, {-inf, -0.0, 0.0, inf});
  equal(cummax(tensor(7)).indices, int64, {1}, {0});
  THROWS(ShapeError, cumulative_sum(x), "cumulative_sum: an axis is needed for shape [2, 3]");
  THROWS(IndexError, cumsum(x, 2), "cumsum: axis 2 is out of range for 2 dimensions");
}

BOOST_AUTO_TEST_CASE(running_in_one_kernel) {
  const Tensor x = (remainder(arange(60), 7) - 3).astype(float32).reshape({6, 10}).copy();
  const std::vector<float> in = x.to_vector<float>();
  const auto check = [&](auto scan, auto combine) {
    reset_metrics();
    const Tensor y = scan(x * 2 + 1);
    const std::vector<float> out = y.to_vector<float>();
    BOOST_TEST(metrics().launches == 1u);
    for (size_t column = 0; column < 10; ++column) {
      float so_far = in[column] * 2 + 1;
      for (size_t row = 0; row < 6; ++row) {
        const size_t i = row * 10 + column;
        if (row > 0) so_far = combine(so_far, in[i] * 2 + 1);
        BOOST_REQUIRE_EQUAL(out[i], so_far);
      }
    }
  };
  check([](const Tensor& v) { return cumsum(v, 0); }, [](float a, float b) { return a + b; });
  check([](const Tensor& v) { return cumprod(v, 0); }, [](float a, float b) { return a * b; });
  check([](const Tensor& v) { return Sorted(cummax(v, 0)).values; },
        [](float a, float b) { return std::max(a, b); });
  check([](const Tensor& v) { return Sorted(cummin(v, 0)).values; },
        [](float a, float b) { return std::min(a, b); });
}

BOOST_AUTO_TEST_SUITE_END()
