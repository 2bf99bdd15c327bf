// Tests the rules of array functions that no other library has: dtypes, when something is computed, the text
// of errors, and what differs from NumPy on purpose.
#include "support/metrics.hpp"
#include "tests/common/check.hpp"

using namespace lazy;
using check::close;
using check::equal;
using check::inf;
using check::NaN;

BOOST_AUTO_TEST_SUITE(array_rules)

BOOST_AUTO_TEST_CASE(dtypes) {
  const Tensor i = arange(1, 5), half = astype(i, float16), b = i > 2;
  for (const DType t : {float16, bfloat16, float32, float64}) {
    const Tensor x = astype(i, t);
    for (const Tensor& y : {nanmean(x),
                            nanvar(x),
                            average(x, x),
                            vector_norm(x),
                            median(x),
                            quantile(x, 0.5),
                            cov(x),
                            trapezoid(x),
                            logcumsumexp(x),
                            cumprod(x),
                            lazy::cbrt(x),
                            lazy::lgamma(x),
                            erfinv(x),
                            sinc(x),
                            xlogy(x, x),
                            heaviside(x, x),
                            lazy::fmod(x, x),
                            addcmul(x, x, x),
                            addcdiv(x, x, x),
                            interp(x, x, x),
                            nansum(x),
                            ptp(x),
                            topk(x, 2).values,
                            unique(x),
                            masked_fill(x, b, 1),
                            lazy::lerp(x, x, 0.5),
                            nan_to_num(x),
                            lazy::fmax(x, 1)})
      BOOST_TEST(name_of(y.dtype()) == name_of(t));
    BOOST_TEST(name_of(histogram(x, 3).edges.dtype()) == name_of(t == float64 ? float64 : float32));
  }
  for (const Tensor& x : {i, astype(i, uint8), b})
    for (const Tensor& y : {nanmean(x), median(x), lazy::exp2(x), deg2rad(x), histogram(x, 3).edges,
                            trapezoid(x), vector_norm(x), bincount(astype(x, int64), x)})
      BOOST_TEST(name_of(y.dtype()) == "float32");
  for (const Tensor& y :
       {trace(ones({2, 2}, int8)), cumprod(b), nansum(b), bincount(i), histogram(i).counts, unstack(i)[0]})
    BOOST_TEST(name_of(y.dtype()) == "int64");
  BOOST_TEST(name_of(cumprod(astype(i, uint8)).dtype()) == "uint64");
  BOOST_TEST(name_of(vander(b).dtype()) == "int64");
  BOOST_TEST(name_of(cummax(b).values.dtype()) == "bool");
  BOOST_TEST(name_of(kron(b, i).dtype()) == "int64");
  BOOST_TEST(name_of(tri(2, 2, 0, uint8).dtype()) == "uint8");
  BOOST_TEST(name_of(hstack({b, half}).dtype()) == "float16");
  equal(nansum(half, {}, dropdims, float64), float64, {}, {10});
  equal(cumprod(half, {}, int8), int8, {4}, {1, 2, 6, 24});
  equal(lazy::exp2(3), float32, {}, {8});
  equal(masked_fill(i, b, true), int64, {4}, {1, 2, 1, 1});
}

BOOST_AUTO_TEST_CASE(nothing_is_computed_before_it_is_needed) {
  const Tensor x = (arange(24, float32) * 1.5).reshape({4, 6}).copy();
  x.eval();
  reset_metrics();
  const Tensor xs[] = {roll(x, 1),
                       tile(x, {2, 2}),
                       pad(x, {{1, 1}}, "reflect"),
                       diff(x),
                       diagonal(x),
                       kron(x, x),
                       nanstd(x),
                       median(x, 1),
                       quantile(x, {0.1, 0.9}),
                       cumprod(x, 1),
                       searchsorted(flatten(x), x),
                       histogram(x).counts,
                       interp(x, flatten(x), flatten(x)),
                       topk(x, 2).values,
                       unique_inverse(x(0)).inverse(slice(0, 1)).copy(),
                       lazy::lgamma(x)};
  // unique_inverse reads where its values begin.
  BOOST_TEST(metrics().flushes == 1u);
  for (const Tensor& y : xs) BOOST_TEST(y.defined());
}

BOOST_AUTO_TEST_CASE(elementwise_composites_are_one_kernel) {
  const Tensor x = linspace(0.1, 0.9, 1000).copy();
  x.eval();
  for (const auto& f : std::vector<Tensor (*)(const Tensor&)>{
           [](const Tensor& v) { return erfinv(v) + 1; }, [](const Tensor& v) { return lazy::lgamma(v) * v; },
           [](const Tensor& v) { return digamma(v) * v; }, [](const Tensor& v) { return i0(v) * v; },
           [](const Tensor& v) { return logit(lazy::lerp(v, v * v, 0.5)); },
           [](const Tensor& v) { return astype(isclose(v, v + 1), float32); },
           [](const Tensor& v) { return masked_fill(nan_to_num(v), v > 0.5, 0); },
           [](const Tensor& v) { return diff(v); }}) {
    reset_metrics();
    f(x).eval();
    BOOST_TEST(metrics().launches == 1u);
  }
}

BOOST_AUTO_TEST_CASE(views_move_nothing) {
  const Tensor x = (arange(42) * 2).reshape({6, 7}).copy();
  x.eval();
  reset_metrics();
  const Tensor parts[] = {split(x, 3)[1], unstack(x)[2],   narrow(x, 0, 1, 2),      diagonal(x, -1),
                          rot90(x),       flipud(x),       unflatten(x, 0, {2, 3}), expand(x(0), {4, 7}),
                          atleast_3d(x),  movedim(x, 0, 1)};
  for (const Tensor& p : parts) p.eval();
  BOOST_TEST(metrics().launches == 0u);
  equal(diagonal(x, -1), int64, {5}, {14, 30, 46, 62, 78});
}

BOOST_AUTO_TEST_CASE(order_of_nan_and_of_equal_elements) {
  const Tensor x = tensor({2.0, NaN, 3.0, 2.0, 3.0});
  equal(topk(x, 3).values, float32, {3}, {3, 3, 2});
  equal(topk(x, 3).indices, int64, {3}, {2, 4, 0});
  equal(topk(x, 2, 0, false).indices, int64, {2}, {0, 3});
  equal(topk(x, 5).values, float32, {5}, {3, 3, 2, 2, NaN});
  equal(kthvalue(x, 5).values, float32, {}, {NaN});
  equal(kthvalue(x, 2, -1, keepdims).indices, int64, {1}, {3});
  equal(median(x), float32, {}, {NaN});
  equal(quantile(x, {0.5}), float32, {1}, {NaN});
  equal(unique(tensor({true, false, true})), bool_, {2}, {0, 1});
  equal(quantile(tensor({-inf, 1.0, inf, inf}), {0, 1, 0.9}), float32, {3}, {-inf, inf, inf});
  equal(median(tensor({inf, inf})), float32, {}, {inf});
  equal(median(tensor({5, 1, 2})), float32, {}, {2});
}

BOOST_AUTO_TEST_CASE(indices_out_of_range) {
  const Tensor x = arange(10, 16).reshape({2, 3});
  equal(take_or(x, tensor({0, 3, -1, 2}), 1, 7), int64, {2, 4}, {10, 7, 7, 12, 13, 7, 7, 15});
  equal(take_or(x, tensor<uint8_t>({1, 200}), 0, -1), int64, {2, 3}, {13, 14, 15, -1, -1, -1});
  equal(take_or(x, tensor(1), 1, 7), int64, {2}, {11, 14});
  equal(take_or(zeros({0}), arange(2), 0, 0.5), float32, {2}, {0.5, 0.5});
  equal(index_select(x, 1, tensor({5, -9}), Bounds::clip), int64, {2, 2}, {12, 10, 15, 13});
  equal(gather(x, 1, tensor({{4}, {-1}}), Bounds::mask), int64, {2, 1}, {0, 0});
  const Tensor wrong = index_select(x, 1, tensor({5}));
  BOOST_CHECK_THROW(wrong.eval(), IndexError);
  const Tensor point = gather(tensor({4, 5}), 0, tensor({1, 1, 0}));
  equal(point, int64, {3}, {5, 5, 4});
}

BOOST_AUTO_TEST_CASE(ranges_of_histograms) {
  equal(histogram(tensor({1, 2, 2, 9}), 2).counts, int64, {2}, {3, 1});
  equal(histogram(tensor({1, 2, 2, 9}), 2).edges, float32, {3}, {1, 5, 9});
  equal(histogram(tensor({1.0, NaN}), 2).counts, int64, {2}, {0, 0});
  equal(histogram(tensor({1.0, NaN, inf, -inf}), 2, 0, 2).counts, int64, {2}, {0, 1});
  equal(histogram(zeros({0}), 2).edges, float32, {3}, {0, 0.5, 1});
  THROWS(Error, histogram(zeros({1}), 2, 0, inf),
         "histogram: the range is finite and ascends: 0.000000, inf");
}

BOOST_AUTO_TEST_CASE(lists_of_one_element) {
  const Tensor x = arange(6);
  BOOST_TEST(split(x, {2}).size() == 2u);
  BOOST_TEST(split(x, 2).size() == 2u);
  equal(split(x, {2})[0], int64, {2}, {0, 1});
  equal(quantile(x, {0.5}), float32, {1}, {2.5});
  equal(quantile(x, 0.5), float32, {}, {2.5});
  equal(percentile(x, {100}), float32, {1}, {5});
  equal(tile(tensor(3), {2}), int64, {2}, {3, 3});
}

BOOST_AUTO_TEST_CASE(lengths_of_counts_depend_on_values) {
  reset_metrics();
  const Tensor counts = bincount(tensor({3, 1, 1}));
  BOOST_TEST(metrics().flushes == 1u);
  equal(counts, int64, {4}, {0, 2, 0, 1});
  equal(bincount(tensor({true}).astype(int64), tensor({0.5f})), float32, {2}, {0, 0.5});
  THROWS(IndexError, bincount(tensor({2, -3})), "bincount: can't count a negative element: -3");
}

BOOST_AUTO_TEST_CASE(texts_of_errors) {
  const Tensor x = ones({2, 3});
  THROWS(ShapeError, split(x, 2, 1), "split: axis 1 of [2, 3] is no multiple of 2: array_split takes any");
  THROWS(IndexError, narrow(x, 1, 2, 5), "narrow: 5 elements from 2 on are not in an axis of 3");
  THROWS(ShapeError, pad(x, {{1, 1}, {1, 1}, {1, 1}}), "pad: 3 pairs of widths for shape [2, 3]");
  THROWS(ShapeError, vstack({x, ones({2})}), "vstack: shapes [2, 3] and [1, 2] differ in more than axis 0");
  THROWS(ShapeError, topk(x, 4), "topk: 4 elements of an axis of 3");
  THROWS(Error, quantile(x, 2), "quantile: q is in 0 to 1, not 2");
  THROWS(DtypeError, masked_fill(x, x, 1), "masked_fill: a mask is of bool, not float32");
  THROWS(ShapeError, cross(x, ones({2})), "cross: vectors of 3 elements along axis -1 are needed: [2]");
}

BOOST_AUTO_TEST_CASE(integers_at_their_ends) {
  const Tensor low = full({2}, INT64_MIN), minus = full({2}, -1);
  equal(lazy::fmod(low, minus), int64, {2}, {0, 0});
  equal(lazy::fmod(tensor({7, -7}), tensor({0, 0})), int64, {2}, {0, 0});
  equal(diff(tensor<uint8_t>({3, 1})), uint8, {1}, {254});
  equal(addcmul(tensor({1, 2}), tensor({3, 4}), 2, -1), int64, {2}, {-5, -6});
  equal(cumprod(full({4}, int64_t{1} << 20)), int64, {4}, {0x1p20, 0x1p40, 0x1p60, 0});
}

BOOST_AUTO_TEST_CASE(broadcast_operands) {
  const Tensor row = tensor({3.0, NaN, -0.0, 7.5, -2.0, 3.0, 0.25}), base = broadcast_to(row, {3, 7});
  const Tensor view = where(base == base, base, 1.0 / 0.0), copied = base.copy();
  copied.eval();
  const std::vector<std::pair<const char*, std::vector<Tensor> (*)(const Tensor&)>> all = {
      {"rearranging",
       [](const Tensor& x) {
         return std::vector<Tensor>{split(x, {1}, 1)[1], unstack(x, 1)[3],       roll(x, {1, 2}, {0, 1}),
                                    tile(x, {1, 2}),     repeat(x, 2, 0),        pad(x, {{1, 2}}, "reflect"),
                                    pad(x, {{1, 2}}),    diff(x, 1, 0),          rot90(x),
                                    hstack({x, x}),      unflatten(x, 1, {7, 1})};
       }},
      {"diagonals",
       [](const Tensor& x) {
         return std::vector<Tensor>{diagonal(x, 1), diag_embed(x), kron(x, x), trace(x, 2), inner(x, x)};
       }},
      {"statistics",
       [](const Tensor& x) {
         return std::vector<Tensor>{nansum(x, 0),       nanmax(x, 1),       nanstd(x),
                                    ptp(x, 0),          cumprod(x, 0),      cummax(x, 1).values,
                                    cov(nan_to_num(x)), logcumsumexp(x, 0), allclose(x, x)};
       }},
      {"ordering",
       [](const Tensor& x) {
         return std::vector<Tensor>{topk(x, 2, 0).values, kthvalue(x, 4).indices, median(x, 0),
                                    quantile(x, {0.3}, 0)};
       }},
      {"selecting", [](const Tensor& x) {
         return std::vector<Tensor>{unique(x),
                                    unique_inverse(x).inverse,
                                    argwhere(x),
                                    masked_fill(x, x > 1, 0),
                                    gather(x, 1, broadcast_to(tensor({1, 6}), {3, 2})),
                                    histogram(nan_to_num(x)).counts,
                                    searchsorted(x(0, slice(0, 1)), x)};
       }}};
  for (const auto& [name, f] : all) BOOST_TEST_CONTEXT(name) {
      const std::vector<Tensor> expected = f(copied), of_view = f(base);
      for (size_t i = 0; i < expected.size(); ++i)
        BOOST_TEST_CONTEXT("result " << i) check::same(of_view[i], expected[i]);
    }
  equal(nansum(view, 1), float32, {3}, {inf, inf, inf});
}

BOOST_AUTO_TEST_CASE(widths_of_many_periods) {
  const Tensor one = tensor({5}), x = arange(3);
  for (const char* mode : {"edge", "reflect", "symmetric", "wrap"})
    equal(sum(pad(one, {{0, 100000}}, mode)), int64, {}, {500005});
  const Tensor far = pad(x, {{100003, 50001}}, "reflect");
  equal(far(slice(100000, 100009)), int64, {9}, {1, 2, 1, 0, 1, 2, 1, 0, 1});
  equal(far(slice(0, 3)), int64, {3}, {1, 2, 1});
  equal(far(slice(-3, none)), int64, {3}, {1, 2, 1});
  reset_metrics();
  far.eval();
  BOOST_TEST(metrics().launches < 9u);
  // The elements of all copies are none, but their positions could not be counted.
  THROWS(ShapeError, tile(zeros({0}), INT64_MAX),
         "tile: shape [1, 9223372036854775807, 0, 1] has more elements than can be addressed");
}

BOOST_AUTO_TEST_CASE(most_dimensions) {
  const Tensor x = arange(256).reshape({2, 2, 2, 2, 2, 2, 2, 2});
  equal(sum(roll(x, 1, 7)), int64, {}, {32640});
  equal(tile(x, 2).shape() == Shape{2, 2, 2, 2, 2, 2, 2, 4} ? tensor(1) : tensor(0), int64, {}, {1});
  equal(repeat(x, 2, 0)(3, 0, 0, 0, 0, 0, 0, 0), int64, {}, {128});
  equal(median(x), float32, {}, {127.5});
  equal(quantile(x, {0.5}, {0, 1, 2, 3, 4, 5, 6}), float32, {1, 2}, {127, 128});
  equal(sum(searchsorted(arange(10), x)), int64, {}, {2505});
  equal(sum(pad(x, {{1, 1}}, "edge")(0, 0, 0, 0, 0, 0, 0)), int64, {}, {0 + 0 + 1 + 1});
  BOOST_CHECK_THROW(stack({x}), ShapeError);
  BOOST_CHECK_THROW(quantile(x, {0.5}, {}, keepdims), ShapeError);
}

BOOST_AUTO_TEST_SUITE_END()
