#include "lazy/ops/sorting.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "support/config.hpp"
#include "tests/common/check.hpp"

using namespace lazy;
using check::equal;
using check::inf;
using check::NaN;
using config::Override;

namespace {

/// Returns random values of few kinds, so that many are equal.
Tensor random_values(const Shape& shape, DType t, uint64_t seed) {
  BOOST_TEST_MESSAGE("random values, seed " << seed);
  std::mt19937_64 r(seed);
  std::vector<double> v(static_cast<size_t>(numel(shape)));
  for (double& x : v) {
    x = static_cast<double>(r() % 41) - (is_bool(t) || is_unsigned_int(t) ? 0 : 20);
    if (is_float(t)) switch (r() % 16) {
        case 0: x = NaN; break;
        case 1: x = -0.0; break;
        case 2: x = r() % 2 ? inf : -inf; break;
        default: x /= 4;
      }
  }
  const Tensor x = astype(from_span<double>(v, shape), t).copy();
  x.eval();
  return x;
}

bool before(double a, double b, bool descending) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return descending ? b < a : a < b;
}

/// Sorts along the last axis in the simplest way and compares.
void check_sorted(const Tensor& x, bool descending) {
  const auto [values, indices] = sort(x, -1, descending);
  const std::vector<double> in = astype(x, float64).to_vector<double>(),
                            out = astype(values, float64).to_vector<double>();
  const std::vector<int64_t> at = indices.to_vector<int64_t>();
  const auto n = static_cast<size_t>(x.shape().back());
  BOOST_TEST((values.dtype() == x.dtype() && indices.dtype() == int64));
  for (size_t row = 0; n && row < in.size() / n; ++row) {
    std::vector<int64_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    const double* const line = in.data() + row * n;
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return before(line[a], line[b], descending); });
    for (size_t i = 0; i < n; ++i) {
      const double wanted = line[order[i]], got = out[row * n + i];
      BOOST_REQUIRE_EQUAL(at[row * n + i], order[i]);
      BOOST_REQUIRE(std::memcmp(&wanted, &got, sizeof got) == 0 || (std::isnan(wanted) && std::isnan(got)));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sorting)

BOOST_AUTO_TEST_CASE(every_dtype_and_length) {
  uint64_t seed = 20261122;
  for (int t = 0; t < kDTypeCount; ++t)
    for (const Shape& s :
         {Shape{0}, Shape{1}, Shape{7}, Shape{3, 31}, Shape{2, 512}, Shape{3, 513}, Shape{1999}})
      for (const bool descending : {false, true})
        check_sorted(random_values(s, static_cast<DType>(t), ++seed), descending);
}

BOOST_AUTO_TEST_CASE(extremes) {
  for (const bool descending : {false, true}) {
    std::vector<int64_t> v(600);
    for (size_t i = 0; i < v.size(); ++i) v[i] = i % 3 ? INT64_MIN + static_cast<int64_t>(i) : INT64_MAX;
    const std::vector<int64_t> out = sort(from_span(v), 0, descending).values.to_vector<int64_t>();
    std::sort(v.begin(), v.end());
    if (descending) std::reverse(v.begin(), v.end());
    BOOST_TEST((out == v));
  }
  equal(sort(tensor({uint64_t{1} << 63, uint64_t{7}, UINT64_MAX})).indices, int64, {3}, {1, 0, 2});
  equal(sort(tensor({NaN, 1., -0., 0., inf, -inf})).values, float32, {6}, {-inf, -0., 0., 1, inf, NaN});
  equal(sort(tensor({NaN, 1., -0., 0., inf, -inf}), 0, true).values, float32, {6},
        {inf, 1, -0., 0., -inf, NaN});
}

BOOST_AUTO_TEST_CASE(on_threads_and_on_one) {
  const Tensor one = random_values({300000}, float32, 7), few = random_values({3, 70000}, float64, 8),
               many = random_values({4000, 40}, int16, 9);
  for (const Tensor& x : {one, few, many}) {
    std::vector<double> first;
    std::vector<int64_t> at;
    for (const char* threads : {"1", "2", "3", "8"}) {
      const Override number("LAZY_NUM_THREADS", threads);
      const auto [values, indices] = sort(x);
      const std::vector<int64_t> i = indices.to_vector<int64_t>();
      if (at.empty()) at = i;
      BOOST_TEST((i == at));
      BOOST_TEST(values.shape() == x.shape());
    }
  }
  check_sorted(one, true);
  check_sorted(many, false);
}

BOOST_AUTO_TEST_CASE(any_axis_and_layout) {
  const Tensor x = tensor({3, 1, 2, 9, 7, 8}).reshape({2, 3});
  equal(sort(x).values, int64, {2, 3}, {1, 2, 3, 7, 8, 9});
  equal(sort(x, 0, true).values, int64, {2, 3}, {9, 7, 8, 3, 1, 2});
  equal(argsort(x, 1), int64, {2, 3}, {1, 2, 0, 1, 2, 0});
  equal(argsort(x.T(), -2), int64, {3, 2}, {1, 1, 2, 2, 0, 0});
  equal(sort(x(slice(none, none, -1), slice(0, 2))).values, int64, {2, 2}, {7, 9, 1, 3});
  equal(sort(broadcast_to(tensor({2, 1}), {2, 2})).values * 2, int64, {2, 2}, {2, 4, 2, 4});
  equal(sort(x.reshape({6})).indices + 1, int64, {6}, {2, 3, 1, 5, 6, 4});
  equal(sort(zeros({2, 0}), 0).indices, int64, {2, 0}, {});
  equal(sort(x * 2 - 1, 1).values(0), int64, {3}, {1, 3, 5});
  THROWS(IndexError, sort(x, 2), "sort: axis 2 is out of range for 2 dimensions");
  BOOST_CHECK_THROW(sort(tensor(1)), IndexError);
  BOOST_CHECK_THROW(argsort(Tensor()), Error);
}

BOOST_AUTO_TEST_CASE(both_outputs_are_one_call) {
  reset_metrics();
  const auto [values, indices] = sort(arange(9) * -1);
  BOOST_TEST(values(0).item<int64_t>() == -8);
  BOOST_TEST(indices(0).item<int64_t>() == 8);
  BOOST_TEST(metrics().calls == 1u);
}

BOOST_AUTO_TEST_CASE(eager_and_verified) {
  const Tensor x = random_values({5, 40}, float32, 3);
  for (const char* how : {"LAZY_EAGER", "LAZY_VERIFY"}) {
    const Override on(how, "1");
    reset_metrics();
    check_sorted(x * 2 + 1, false);
    BOOST_TEST(metrics().verify_failures == 0u);
  }
}

/// Selects in every way and compares with the sorted row.
void check_selected(const Tensor& x) {
  const int64_t n = x.shape().back(), rows = n ? numel(x.shape()) / n : 0;
  const std::vector<double> in = astype(x, float64).to_vector<double>();
  for (const bool descending : {false, true}) {
    std::vector<int64_t> order;
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<int64_t> one(static_cast<size_t>(n));
      std::iota(one.begin(), one.end(), 0);
      const double* const line = in.data() + row * n;
      std::stable_sort(one.begin(), one.end(),
                       [&](int64_t a, int64_t b) { return before(line[a], line[b], descending); });
      order.insert(order.end(), one.begin(), one.end());
    }
    const auto check = [&](const Sorted& s, int64_t first, int64_t count) {
      const std::vector<int64_t> at = s.indices.to_vector<int64_t>();
      const std::vector<double> got = astype(s.values, float64).to_vector<double>();
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < count; ++i) {
          const auto wanted = order[static_cast<size_t>(row * n + first + i)];
          const auto place = static_cast<size_t>(row * count + i);
          BOOST_REQUIRE_EQUAL(at[place], wanted);
          const double value = in[static_cast<size_t>(row * n + wanted)];
          BOOST_REQUIRE((std::memcmp(&value, &got[place], sizeof value) == 0 ||
                         (std::isnan(value) && std::isnan(got[place]))));
        }
    };
    for (const int64_t k : {int64_t{0}, std::min<int64_t>(n, 1), std::min<int64_t>(n, 10), n / 20, n / 2, n})
      check(topk(x, k, -1, descending), 0, k);
    if (!descending && n > 0)
      for (const int64_t k : {int64_t{1}, (n + 1) / 3 + 1, n})
        check(kthvalue(x, std::min(k, n)), std::min(k, n) - 1, 1);
  }
}

BOOST_AUTO_TEST_CASE(selections_of_every_dtype_and_length) {
  uint64_t seed = 515;
  for (int t = 0; t < kDTypeCount; ++t)
    for (const Shape& s : {Shape{0}, Shape{1}, Shape{7}, Shape{3, 31}, Shape{2, 300}, Shape{3, 2049},
                           Shape{8191}, Shape{2, 20011}})
      check_selected(random_values(s, static_cast<DType>(t), ++seed));
}

/// Rows that mislead who sorts parts of keys or takes samples: of one value, in runs, ascending, and with
/// differences in the lowest bits alone.
BOOST_AUTO_TEST_CASE(rows_that_mislead) {
  for (const int64_t n : {1000, 2048, 9001, 30000})
    for (const DType t : {float32, float64, int32, int64}) {
      const Tensor i = arange(n);
      const Tensor close =
          where(remainder(i, 97) == 0, astype(i, float64) * 1e9, 1 + remainder(i * 7919, n) * 1e-12);
      for (const Tensor& x : {full({n}, 3), i, -i, floor_divide(i, 100), remainder(i, 2), remainder(i, 2048),
                              where(i == n / 2, int64_t{1} << 30, i), close}) {
        const Tensor row = astype(x, t).copy();
        row.eval();
        check_sorted(row, false);
        check_sorted(row, true);
        check_selected(row);
      }
    }
}

BOOST_AUTO_TEST_CASE(the_same_on_every_machine) {
  const Tensor one = random_values({70001}, float32, 71), wide = random_values({3, 20000}, float64, 72),
               many = random_values({300, 100}, float16, 73);
  for (const Tensor& x : {one, wide, many}) {
    std::vector<std::vector<int64_t>> first;
    for (const char* threads : {"1", "3"}) {
      const Override number("LAZY_NUM_THREADS", threads);
      const Sorted best = topk(x, 50), all = sort(x, -1, true);
      const std::vector<std::vector<int64_t>> at = {best.indices.to_vector<int64_t>(),
                                                    all.indices.to_vector<int64_t>(),
                                                    kthvalue(x, 77).indices.to_vector<int64_t>()};
      if (first.empty()) first = at;
      BOOST_TEST((at == first));
    }
    const Override verified("LAZY_VERIFY", "1");
    reset_metrics();
    eval(median(x, -1), quantile(x, {0.1, 0.5, 0.99}, -1), topk(x * 1, 3).indices, kthvalue(-x, 9).values);
    BOOST_TEST(metrics().verify_failures == 0u);
  }
}

BOOST_AUTO_TEST_SUITE_END()
