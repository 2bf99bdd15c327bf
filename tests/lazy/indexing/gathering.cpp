// Compares take, take_along_axis, scatter, put_along_axis, index_add with simple loops: rules of bounds,
// dtypes, edge shapes, order of updates, errors.
#include "lazy/indexing/gathering.hpp"

#include <random>

#include "tests/common/asked.hpp"
#include "tests/common/check.hpp"

using namespace lazy;
using check::equal;
using check::inf;
using check::NaN;

namespace {

std::mt19937_64& generator() {
  static std::mt19937_64 g = [] {
    const uint64_t seed = lazy::test::asked_seed();
    std::printf("LAZY_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    return std::mt19937_64(seed);
  }();
  return g;
}
int64_t below(int64_t n) { return static_cast<int64_t>(generator()() % static_cast<uint64_t>(n)); }

std::vector<int64_t> random_indices(int64_t count, int64_t low, int64_t high) {
  std::vector<int64_t> v;
  for (int64_t i = 0; i < count; ++i) v.push_back(low + below(high - low));
  return v;
}

/// Calls f(multi-index, linear index) in row-major order.
template <class F>
void each_index(const Shape& s, F&& f) {
  std::vector<int64_t> at(static_cast<size_t>(s.size()), 0);
  for (int64_t n = 0; n < numel(s); ++n) {
    f(at, n);
    for (int i = s.size() - 1; i >= 0 && ++at[static_cast<size_t>(i)] == s[i]; --i)
      at[static_cast<size_t>(i)] = 0;
  }
}
int64_t linear(const Shape& s, const std::vector<int64_t>& at) {
  int64_t n = 0;
  for (int i = 0; i < s.size(); ++i) n = n * s[i] + at[static_cast<size_t>(i)];
  return n;
}
/// Returns where an index leads by its rule; -1: nowhere.
int64_t resolve(int64_t i, int64_t n, Bounds b) {
  switch (b) {
    case Bounds::check: return i < 0 ? i + n : i;
    case Bounds::wrap: return ((i % n) + n) % n;
    case Bounds::clip: return std::clamp<int64_t>(i, 0, n - 1);
    case Bounds::strict: return i;
    case Bounds::mask: break;
  }
  return i >= 0 && i < n ? i : -1;
}

std::vector<double> along_axis(const std::vector<double>& x, Shape xs, const std::vector<int64_t>& index,
                               const Shape& is, int axis, Bounds b) {
  std::vector<double> out(index.size());
  each_index(is, [&](std::vector<int64_t> at, int64_t n) {
    const int64_t i = resolve(index[static_cast<size_t>(n)], xs[axis], b);
    at[static_cast<size_t>(axis)] = i;
    out[static_cast<size_t>(n)] = i < 0 ? 0 : x[static_cast<size_t>(linear(xs, at))];
  });
  return out;
}

std::vector<double> scattered(std::vector<double> x, Shape xs, const std::vector<int64_t>& index,
                              const Shape& is, const std::vector<double>& values, int axis, Combine c,
                              Bounds b) {
  each_index(is, [&](std::vector<int64_t> at, int64_t n) {
    const int64_t i = resolve(index[static_cast<size_t>(n)], xs[axis], b);
    if (i < 0) return;
    at[static_cast<size_t>(axis)] = i;
    double& to = x[static_cast<size_t>(linear(xs, at))];
    const double v = values[static_cast<size_t>(n)];
    switch (c) {
      case Combine::set: to = v; break;
      case Combine::add: to += v; break;
      case Combine::multiply: to *= v; break;
      case Combine::min: to = std::min(to, v); break;
      case Combine::max: to = std::max(to, v); break;
    }
  });
  return x;
}

const std::vector<Bounds> rules = {Bounds::check, Bounds::wrap, Bounds::clip, Bounds::mask};
const std::vector<DType> dtypes = {bool_,  int8,   int16,   int32,    int64,   uint8,  uint16,
                                   uint32, uint64, float16, bfloat16, float32, float64};
const std::vector<DType> index_types = {int8, int16, int32, int64, uint8, uint16, uint32, uint64};

std::vector<double> small_numbers(int64_t n) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<double>(below(7)));
  return v;
}
Tensor made(const std::vector<double>& v, DType t, const Shape& s) {
  return astype(asarray(v), t).reshape(s);
}
Tensor made(const std::vector<int64_t>& v, DType t, const Shape& s) {
  return astype(asarray(v), t).reshape(s);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gathering)

BOOST_AUTO_TEST_CASE(taking) {
  const Tensor x = arange(12).reshape({3, 4}) * 10;
  equal(take(x, tensor({2, 0, -1}), 0), int64, {3, 4}, {80, 90, 100, 110, 0, 10, 20, 30, 80, 90, 100, 110});
  equal(take(x, tensor({3, 0}), 1), int64, {3, 2}, {30, 0, 70, 40, 110, 80});
  equal(take(x, 1, 0), int64, {4}, {40, 50, 60, 70});
  equal(take(x, -1, -1), int64, {3}, {30, 70, 110});
  equal(take(x, tensor({0, 1, 2, 1}).reshape({2, 2}), 0), int64, {2, 2, 4},
        {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 40, 50, 60, 70});
  equal(take(x, tensor({0, 1, 2, 3}).reshape({2, 2}), 1), int64, {3, 2, 2},
        {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110});
  equal(take(arange(5), tensor({4, -5, 2}), 0), int64, {3}, {4, 0, 2});
  equal(take(x, zeros({0}, int64), 0), int64, {0, 4}, {});
  equal(take(zeros({0, 3}), zeros({0}, int64), 0), float32, {0, 3}, {});
  equal(take(zeros({3, 0}), tensor({1, 1}), 0), float32, {2, 0}, {});
  equal(take(full({3}, 2.5), tensor({0, 2}), 0), float32, {2}, {2.5, 2.5});
  equal(take(arange(6), arange(3) * 2, 0), int64, {3}, {0, 2, 4});
}

BOOST_AUTO_TEST_CASE(rules_of_bounds) {
  const Tensor x = tensor({10, 20, 30}), i = tensor({-4, -3, -1, 0, 2, 3, 7});
  equal(take(x, i, 0, Bounds::wrap), int64, {7}, {30, 10, 30, 10, 30, 10, 20});
  equal(take(x, i, 0, Bounds::clip), int64, {7}, {10, 10, 10, 10, 30, 30, 30});
  equal(take(x, i, 0, Bounds::mask), int64, {7}, {0, 0, 0, 10, 30, 0, 0});
  equal(take(x, tensor({-3, -1, 2}), 0), int64, {3}, {10, 30, 30});
  const Tensor huge = asarray(std::vector<uint64_t>{~uint64_t{0}, uint64_t{1} << 63, 1});
  equal(take(x, huge, 0, Bounds::clip), int64, {3}, {30, 30, 20});
  equal(take(x, huge, 0, Bounds::mask), int64, {3}, {0, 0, 20});
  equal(take(x, huge, 0, Bounds::wrap), int64, {3}, {10, 30, 20});  // 2^64 - 1 and 2^63 modulo 3
  const Tensor far = asarray(std::vector<int64_t>{INT64_MIN, INT64_MAX, 1});
  equal(take(x, far, 0, Bounds::clip), int64, {3}, {10, 30, 20});
  equal(take(x, far, 0, Bounds::mask), int64, {3}, {0, 0, 20});
  equal(scatter(x, 0, i, 1, Combine::add, Bounds::mask), int64, {3}, {11, 20, 31});
  equal(scatter(x, 0, i, 1, Combine::add, Bounds::wrap), int64, {3}, {13, 21, 33});
  equal(scatter(x, 0, i, 1, Combine::add, Bounds::clip), int64, {3}, {14, 20, 33});
  equal(take(x, tensor({2, 0}), 0, Bounds::strict), int64, {2}, {30, 10});
  equal(index_add(x, 0, tensor({2, 0}), 1, Bounds::strict), int64, {3}, {11, 20, 31});
  for (const int64_t bad : {-1, 3}) {
    BOOST_CHECK_THROW(take(x, tensor({2L, bad}), 0, Bounds::strict).eval(), IndexError);
    BOOST_CHECK_THROW(scatter(x, 0, tensor({2L, bad}), 1, Combine::set, Bounds::strict).eval(), IndexError);
    BOOST_CHECK_THROW(take(x.reshape({3, 1}), tensor({2L, bad}), Bounds::strict).eval(), IndexError);
  }
  equal(take(zeros({0}), tensor({1, 5}), 0, Bounds::mask), float32, {2}, {0, 0});
  equal(scatter(zeros({0}), 0, tensor({1, 5}), 1, Combine::set, Bounds::mask), float32, {0}, {});
}

BOOST_AUTO_TEST_CASE(errors_at_the_users_line) {
  const Tensor x = arange(3);
  THROWS(IndexError, take(x, tensor({0, 3}), 0).eval(),
         "take: index 3 is out of range for an axis of 3 elements");
  THROWS(IndexError, take(x, tensor({-4, 9}), 0).eval(),
         "take: index -4 is out of range for an axis of 3 elements");
  THROWS(IndexError, take(tensor({5}), tensor({1}), 0).eval(),
         "take: index 1 is out of range for an axis of 1 element");
  THROWS(IndexError, take(x, asarray(std::vector<uint64_t>{0, ~uint64_t{0}}), 0).eval(),
         "take: index 18446744073709551615 is out of range for an axis of 3 elements");
  THROWS(IndexError, take_along_axis(x, tensor({2, 3, 4}), 0).eval(),
         "take_along_axis: index 3 is out of range for an axis of 3 elements");
  THROWS(IndexError, scatter_add(x, 0, tensor({2, 7}), 1).eval(),
         "scatter_add: index 7 is out of range for an axis of 3 elements");
  // Functions that are made of these are named themselves.
  THROWS(IndexError, embedding(tensor({0, 7}), ones({3, 2})).eval(),
         "embedding: index 7 is out of range for an axis of 3 elements");
  THROWS(IndexError, cross_entropy(ones({2, 3}), tensor({0, 5})).eval(),
         "cross_entropy: index 5 is out of range for an axis of 3 elements");
  THROWS(IndexError, nll_loss(ones({2, 3}), tensor({3, 0})).eval(),
         "nll_loss: index 3 is out of range for an axis of 3 elements");
  THROWS(IndexError, take(zeros({0}), tensor({0}), 0),
         "take: no index is in range for an axis of 0 elements");
  THROWS(IndexError, take(x, tensor({0}), 1), "take: axis 1 is out of range for 1 dimensions");
  THROWS(DtypeError, take(x, tensor({0.5}), 0), "take: an index is of integers, not float32");
  THROWS(DtypeError, take(x, x > 0, 0), "take: an index is of integers, not bool");
  THROWS(ShapeError, scatter_add(x, 0, tensor({0, 1}), x),
         "scatter_add: shapes [3] and [2] do not broadcast");
  THROWS(DtypeError, scatter_add(x > 0, 0, tensor({0}), true), "scatter_add: bool does not combine by add");
  BOOST_CHECK_THROW(scatter(x, 0, tensor({0}), 0.5), DtypeError);
  BOOST_CHECK_THROW(take_along_axis(x, tensor({{0}, {1}}), 0), ShapeError);
  BOOST_CHECK_THROW(index_add(x, 0, tensor({{0}}), x), ShapeError);
  BOOST_CHECK_THROW(take(zeros({2, 2, 2, 2, 2, 2, 2}), zeros({1, 1, 1}, int64), 0), ShapeError);
  equal(take(x, tensor({2, 1}), 0), int64, {2}, {2, 1});  // the program goes on
}

BOOST_AUTO_TEST_CASE(every_dtype_axis_and_rule) {
  for (const DType t : dtypes)
    for (int trial = 0; trial < 6; ++trial) {
      const Shape shapes[] = {{5}, {1}, {4, 7}, {3, 1}, {1, 9}, {2, 3, 5}, {3, 17}, {33, 2}, {2, 2, 1, 3}};
      Shape xs = shapes[below(static_cast<int64_t>(std::size(shapes)))];
      const int axis = static_cast<int>(below(xs.size()));
      Shape is = xs;
      is[axis] = 1 + below(40);
      const Bounds b = rules[static_cast<size_t>(below(4))];
      const DType it = index_types[static_cast<size_t>(below(8))];
      const int64_t n = xs[axis],
                    low = is_unsigned_int(it)  ? 0
                          : b == Bounds::check ? -n
                                               : -3 * n,
                    high = b == Bounds::check ? n : 3 * n;
      const auto index = random_indices(numel(is), low, high);
      auto x = small_numbers(numel(xs));
      auto v = small_numbers(numel(is));
      if (t == bool_)
        for (auto* w : {&x, &v})
          for (double& e : *w) e = e > 2;
      const Tensor tx = made(x, t, xs), ti = made(index, it, is), tv = made(v, t, is);
      BOOST_TEST_CONTEXT(name_of(t) << " " << to_string(xs) << " axis " << axis << " by " << to_string(is)
                                    << " " << name_of(it) << " rule " << static_cast<int>(b)) {
        equal(take_along_axis(tx, ti, axis, b), t, is, along_axis(x, xs, index, is, axis, b));
        equal(where(made(v, t, is) == 1, take_along_axis(tx.copy().eval(), ti, axis, b),
                    take_along_axis(tx, ti, axis, b)),
              t, is, along_axis(x, xs, index, is, axis, b));
        const Combine c = t == bool_ ? Combine::set : static_cast<Combine>(below(5));
        if (c == Combine::multiply) continue;  // products leave small types
        auto expected = scattered(x, xs, index, is, v, axis, c, b);
        if (t == int8)  // sums do, too
          for (double& e : expected) e = static_cast<int8_t>(static_cast<int64_t>(e));
        equal(put_along_axis(tx, ti, tv, axis, c, b), t, xs, expected);
      }
    }
}

BOOST_AUTO_TEST_CASE(views_as_sources) {
  const Tensor x = astype(arange(60), float32).reshape({3, 4, 5}).copy().eval();
  const Tensor i = tensor({2, 0, 3, 3});
  const Tensor p = x.permute({2, 1, 0}), s = x(ellipsis, slice(0, 5, 2));
  equal(take(p, i, 1), float32, {5, 4, 3}, take(p.copy().eval(), i, 1).to_vector<double>());
  equal(take(s, tensor({2, 1}), 2), float32, {3, 4, 2},
        take(s.copy().eval(), tensor({2, 1}), 2).to_vector<double>());
  equal(take(flip(x, {0}), tensor({0, 2}), 0), float32, {2, 4, 5},
        take(flip(x, {0}).copy().eval(), tensor({0, 2}), 0).to_vector<double>());
  equal(take(x * 2, i, 1), float32, {3, 4, 5}, (take(x, i, 1) * 2).to_vector<double>());
  equal(take(x, i, 1).permute({1, 0, 2})(1), float32, {3, 5}, x(slice(0, 3, 1), 0).to_vector<double>());
  equal(take(x.reshape({12, 5}), tensor({11, 0}), 0), float32, {2, 5}, {55, 56, 57, 58, 59, 0, 1, 2, 3, 4});
  equal(take(x, i, 1).reshape({12, 5})(4), float32, {5}, {30, 31, 32, 33, 34});
  equal(take_along_axis(x(0)(slice(0, 1)), tensor({{1, 1, 0, 0, 2}}) * 0, 0), float32, {1, 5},
        {0, 1, 2, 3, 4});
  // The operand is constant along the axis.
  equal(take(broadcast_to(exp(tensor(0.0)), {3}), tensor({2, 1, 2}), 0), float32, {3}, {1, 1, 1});
  equal(take(broadcast_to(tensor({{5}}), {3, 1}), tensor({2, 1}), 0), int64, {2, 1}, {5, 5});
  // The operand is a sum, a product, a scan.
  equal(take(sum(x, {2}), i, 1), float32, {3, 4}, take(sum(x, {2}).eval(), i, 1).to_vector<double>());
  equal(take(matmul(x(0), x(1).T()), i, 1), float32, {4, 4},
        take(matmul(x(0), x(1).T()).eval(), i, 1).to_vector<double>());
  equal(take(take(x, i, 1), tensor({3, 0}), 1), float32, {3, 2, 5},
        take(x, tensor({3, 2}), 1).to_vector<double>());
}

BOOST_AUTO_TEST_CASE(the_last_of_equals_stays) {
  const Tensor x = zeros({4});
  equal(scatter(x, 0, tensor({1, 1, 3, 1}), asarray(std::vector<float>{5, 6, 7, 8})), float32, {4},
        {0, 8, 0, 7});
  // Adding 1 to 2^24 has no effect, adding 1 + 1 has: so the order shows.
  const float big = 16777216.0f;
  equal(scatter_add(x, 0, tensor({0, 0, 0}), asarray(std::vector<float>{big, 1, 1})), float32, {4},
        {big, 0, 0, 0});
  equal(scatter_add(x, 0, tensor({0, 0, 0}), asarray(std::vector<float>{1, 1, big})), float32, {4},
        {big + 2, 0, 0, 0});
  equal(scatter(tensor({1.0, NaN, -0.0, 3.0}), 0, tensor({0, 1, 2, 3}), tensor({NaN, 1.0, 0.0, -inf}),
                Combine::max),
        float32, {4}, {NaN, NaN, 0.0, 3});
  equal(scatter(tensor({1.0, NaN, 0.0, 3.0}), 0, tensor({0, 1, 2, 3}), tensor({NaN, 1.0, -0.0, -inf}),
                Combine::min),
        float32, {4}, {NaN, NaN, -0.0, -inf});
  equal(scatter(tensor({3, 4}), 0, tensor({1, 1, 0}), tensor({5, 6, -1}), Combine::multiply), int64, {2},
        {-3, 120});
  equal(scatter_add(astype(tensor({100}), int8), 0, tensor({0, 0}), astype(tensor({100, 100}), int8)), int8,
        {1}, {44});
}

BOOST_AUTO_TEST_CASE(broadcast_indices_and_values) {
  const Tensor x = zeros({3, 4});
  equal(put_along_axis(x, tensor({{1}, {0}, {3}}), 5, 1), float32, {3, 4},
        {0, 5, 0, 0, 5, 0, 0, 0, 0, 0, 0, 5});
  equal(index_add(x, 0, tensor({2, 2}), ones({2, 4})), float32, {3, 4}, {0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2});
  equal(index_add(x, 1, tensor({3, 0}), ones({3, 1})), float32, {3, 4}, {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1});
  equal(scatter_add(x, 0, tensor({{1, 1, 0, 2}}), 1), float32, {3, 4}, {0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 1});
  equal(scatter_add(zeros({3}, int64), 0, tensor({0, 2, 2, 2}), 1), int64, {3}, {1, 0, 3});  // counts
  Tensor y = arange(4);
  y = index_add(y, 0, tensor({1}), tensor({10}));
  y = index_add(y, 0, tensor({1}), tensor({10}));
  equal(y, int64, {4}, {0, 21, 2, 3});
}

BOOST_AUTO_TEST_SUITE_END()
