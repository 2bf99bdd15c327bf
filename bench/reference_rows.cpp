// Computes the rows as their definitions say, one result after the other: long double where the inputs are
// float64, double for the rest.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "drawn.hpp"
#include "reference.hpp"

namespace bench {
namespace {

constexpr size_t kMostElements = 1 << 20, kMostRows = 64;

/// Returns some of 0 ... n-1, spread over all: each where there are no more than `most`.
std::vector<size_t> some(size_t n, size_t most) {
  std::vector<size_t> all;
  const size_t count = std::min(n, most);
  for (size_t i = 0; i < count; ++i) all.push_back(i * n / count);
  return all;
}

template <class R>
struct Rows {
  const Case& c;
  std::vector<Expected> want = {};

  R in(size_t k, size_t i) const { return static_cast<R>(c.in[k].v[i % c.in[k].v.size()]); }
  void add(size_t output, size_t index, R value) { want.push_back({output, index, value}); }

  template <class F>
  void each(F f) {
    for (const size_t i : some(c.out[0].v.size(), kMostElements)) add(0, i, f(i));
  }

  static R gelu(R x) { return x * std::erfc(-x * std::sqrt(R(0.5))) / 2; }

  void fused_chain() {
    each([&](size_t i) {
      const R x = (in(0, i) * in(1, i) + in(2, i)) * R(0.5);
      return gelu(x) + 1 / (1 + std::exp(-in(3, i)));
    });
  }
  void arith_chain() {
    each([&](size_t i) {
      const R a = in(0, i), b = in(1, i), c = in(2, i), d = in(3, i);
      return ((a * b + c) * R(0.5) + d) * (a - c) + b * d;
    });
  }
  void chain10() {
    each([&](size_t i) {
      R t = in(0, i);
      for (int k = 0; k < 5; ++k) t = (t + in(1, i)) * in(2, i);
      return t;
    });
  }
  void chain() {
    const std::string text = c.size.substr(0, c.size.rfind('x'));
    const auto unary = [](char name, R x) {
      switch (name) {
        case 'g': return gelu(x);
        case 's': return 1 / (1 + std::exp(-x));
        case 'r': return std::max(x, R(0));
        case 'q': return std::sqrt(std::abs(x));
        default: return std::exp(-std::abs(x));
      }
    };
    each([&](size_t i) { return chain_of<R>(text, {in(0, i), in(1, i), in(2, i), in(3, i)}, unary); });
  }
  void black_scholes() {
    const auto cdf = [](R x) { return std::erfc(-x * std::sqrt(R(0.5))) / 2; };
    const R rate = R(0.02);
    for (const size_t i : some(c.out[0].v.size(), kMostElements)) {
      const R spot = in(0, i), strike = in(1, i), years = in(2, i), v = in(3, i),
              spread = v * std::sqrt(years);
      const R d1 = (std::log(spot / strike) + (v * v / 2 + rate) * years) / spread;
      const R n1 = cdf(d1), n2 = cdf(d1 - spread), discounted = strike * std::exp(-rate * years);
      add(0, i, spot * n1 - discounted * n2);
      add(1, i, discounted * (1 - n2) - spot * (1 - n1));
    }
  }
  void polynomial() {
    each([&](size_t i) { return (in(0, i) * in(1, i) + in(0, i)) * 2 - in(1, i); });
  }
  void mask_bool() {
    each([&](size_t i) { return R(in(0, i) > 0 && in(1, i) < in(0, i)); });
  }
  void where_bool() {
    each([&](size_t i) { return in(0, i) > in(1, i) ? in(0, i) : in(1, i) * 2; });
  }
  void count_bool() {
    R n = 0;
    for (size_t i = 0; i < c.in[0].v.size(); ++i) n += in(0, i) > in(1, i);
    add(0, 0, n);
  }

  /// Calls f with the number of a row, its first element and its length.
  template <class F>
  void each_row(F f) {
    const size_t columns = c.in[0].shape.back(), rows = c.in[0].v.size() / columns;
    for (const size_t r : some(rows, std::max(kMostRows, kMostElements / columns)))
      f(r, r * columns, columns);
  }
  R largest(size_t first, size_t n) const {
    return static_cast<R>(*std::max_element(&c.in[0].v[first], &c.in[0].v[first] + n));
  }
  R exponentials(size_t first, size_t n, R top) const {
    R sum = 0;
    for (size_t i = 0; i < n; ++i) sum += std::exp(in(0, first + i) - top);
    return sum;
  }
  void softmax() {
    each_row([&](size_t, size_t first, size_t n) {
      const R top = largest(first, n), sum = exponentials(first, n, top);
      for (size_t i = 0; i < n; ++i) add(0, first + i, std::exp(in(0, first + i) - top) / sum);
    });
  }
  void log_softmax() {
    each_row([&](size_t, size_t first, size_t n) {
      const R top = largest(first, n), sum = std::log(exponentials(first, n, top));
      for (size_t i = 0; i < n; ++i) add(0, first + i, in(0, first + i) - top - sum);
    });
  }
  void logsumexp() {
    each_row([&](size_t r, size_t first, size_t n) {
      const R top = largest(first, n);
      add(0, r, top + std::log(exponentials(first, n, top)));
    });
  }
  void argmax() {  // how far the element that was found is below the largest
    each_row([&](size_t r, size_t first, size_t n) {
      const auto found = static_cast<size_t>(c.out[0].v[r]);
      const bool best = found < n && in(0, first + found) == largest(first, n);
      add(0, r, best ? static_cast<R>(found) : R(-1));
    });
  }
  void sum() {
    each_row([&](size_t r, size_t first, size_t n) {
      R s = 0;
      for (size_t i = 0; i < n; ++i) s += in(0, first + i);
      add(0, r, s);
    });
  }
  void max() {
    each_row([&](size_t r, size_t first, size_t n) { add(0, r, largest(first, n)); });
  }
  void norm(bool centred) {
    each_row([&](size_t, size_t first, size_t n) {
      R mean = 0, square = 0;
      for (size_t i = 0; i < n && centred; ++i) mean += in(0, first + i) / static_cast<R>(n);
      for (size_t i = 0; i < n; ++i) square += (in(0, first + i) - mean) * (in(0, first + i) - mean);
      const R scale = 1 / std::sqrt(square / static_cast<R>(n) + R(1e-5));
      for (size_t i = 0; i < n; ++i)
        add(0, first + i, (in(0, first + i) - mean) * scale * in(1, i) + (centred ? in(2, i) : 0));
    });
  }
  void col_standardize() {
    const size_t columns = c.in[0].shape.back(), rows = c.in[0].v.size() / columns;
    for (size_t j = 0; j < columns; ++j) {
      R mean = 0, square = 0;
      for (size_t r = 0; r < rows; ++r) mean += in(0, r * columns + j) / static_cast<R>(rows);
      for (size_t r = 0; r < rows; ++r)
        square += (in(0, r * columns + j) - mean) * (in(0, r * columns + j) - mean);
      const R scale = 1 / std::sqrt(square / static_cast<R>(rows) + R(1e-5));
      for (const size_t r : some(rows, kMostElements / columns))
        add(0, r * columns + j, (in(0, r * columns + j) - mean) * scale);
    }
  }

  /// Multiplies batches of (m, k) by (k, n), or by (n, k) if `turned`; `finish` has each sum and its column.
  template <class F>
  void product(bool turned, F finish) {
    const auto& a = c.in[0].shape;
    const auto& b = c.in[1].shape;
    const size_t k = a.back(), m = a.size() > 1 ? a[a.size() - 2] : 1;
    const size_t n = b.size() < 2 ? 1
                     : turned     ? b[b.size() - 2]
                                  : b.back(),
                 batches = c.in[0].v.size() / (m * k);
    std::vector<R> sums(n);
    for (const size_t row : some(batches * m, kMostRows)) {
      const size_t side = row / m * k * n;
      std::fill(sums.begin(), sums.end(), R(0));
      for (size_t j = 0; turned && j < n; ++j)
        for (size_t i = 0; i < k; ++i)
          sums[j] += in(0, row * k + i) * static_cast<R>(c.in[1].v[side + j * k + i]);
      for (size_t i = 0; !turned && i < k; ++i) {
        const R x = in(0, row * k + i);
        for (size_t j = 0; j < n; ++j) sums[j] += x * static_cast<R>(c.in[1].v[side + i * n + j]);
      }
      for (size_t j = 0; j < n; ++j) add(0, row * n + j, finish(sums[j], j));
    }
  }
  void matmul() {
    product(false, [](R s, size_t) { return s; });
  }
  void linear() {
    product(true, [&](R s, size_t j) { return s + in(2, j); });
  }
  void linear_gelu() {
    product(true, [&](R s, size_t j) { return gelu(s + in(2, j)); });
  }
  void linear_int8() {
    product(true, [&](R s, size_t j) { return s / 127 + in(2, j); });
  }

  void attention(bool causal) {
    const auto& shape = c.in[0].shape;  // (..., queries, size)
    const size_t size = shape.back(), queries = shape[shape.size() - 2];
    const size_t keys = c.in[1].shape[shape.size() - 2];
    std::vector<R> weight(keys);
    for (const size_t q : some(c.in[0].v.size() / size, 4 * kMostRows)) {
      const size_t first = q / queries * keys * size, seen = causal ? q % queries + 1 : keys;
      R top = -INFINITY, sum = 0;
      for (size_t j = 0; j < seen; ++j) {
        R s = 0;
        for (size_t i = 0; i < size; ++i) s += in(0, q * size + i) * in(1, first + j * size + i);
        top = std::max(top, weight[j] = s / std::sqrt(static_cast<R>(size)));
      }
      for (size_t j = 0; j < seen; ++j) sum += weight[j] = std::exp(weight[j] - top);
      for (size_t i = 0; i < size; ++i) {
        R s = 0;
        for (size_t j = 0; j < seen; ++j) s += weight[j] * in(2, first + j * size + i);
        add(0, q * size + i, s / sum);
      }
    }
  }

  /// Computes a 3 x 3 convolution with a border of one zero; a filter is (out, in, 3, 3) or (3, 3, in, out).
  void convolution(bool normalised) {
    const auto& shape = c.in[0].shape;
    const auto& filter = c.in[1].shape;
    const bool last = shape[1] == shape[2], turned = filter[0] == 3;
    const size_t height = shape[last ? 1 : 2], width = shape[last ? 2 : 3], from = shape[last ? 3 : 1];
    const size_t to = filter[turned ? 3 : 0];
    const auto at = [&](size_t y, size_t x, size_t k, size_t channels) {
      return last ? (y * width + x) * channels + k : (k * height + y) * width + x;
    };
    for (const size_t pixel : some(height * width, kMostRows))
      for (size_t o = 0; o < to; ++o) {
        R s = in(2, o);
        for (size_t tap = 0; tap < 9; ++tap) {
          const size_t y = pixel / width + tap / 3 - 1, x = pixel % width + tap % 3 - 1;
          if (y >= height || x >= width) continue;
          for (size_t k = 0; k < from; ++k)
            s += in(0, at(y, x, k, from)) *
                 in(1, turned ? (tap * from + k) * to + o : (o * from + k) * 9 + tap);
        }
        if (normalised)  // bias, scale, shift, mean, variance
          s = std::max(R(0), (s - in(5, o)) / std::sqrt(in(6, o) + R(1e-5)) * in(3, o) + in(4, o));
        add(0, at(pixel / width, pixel % width, o, to), s);
      }
  }
};

template <class R>
std::vector<Expected> compute(const Case& c) {
  Rows<R> r{c};
  const std::map<std::string, std::function<void()>> workloads{
      {"fused_chain", [&] { r.fused_chain(); }},
      {"arith_chain", [&] { r.arith_chain(); }},
      {"overhead_chain10", [&] { r.chain10(); }},
      {"chain", [&] { r.chain(); }},
      {"black_scholes", [&] { r.black_scholes(); }},
      {"polynomial", [&] { r.polynomial(); }},
      {"mask_bool", [&] { r.mask_bool(); }},
      {"where_bool", [&] { r.where_bool(); }},
      {"count_bool", [&] { r.count_bool(); }},
      {"softmax", [&] { r.softmax(); }},
      {"log_softmax", [&] { r.log_softmax(); }},
      {"logsumexp", [&] { r.logsumexp(); }},
      {"argmax", [&] { r.argmax(); }},
      {"sum", [&] { r.sum(); }},
      {"max", [&] { r.max(); }},
      {"layernorm", [&] { r.norm(true); }},
      {"rmsnorm", [&] { r.norm(false); }},
      {"col_standardize", [&] { r.col_standardize(); }},
      {"matmul", [&] { r.matmul(); }},
      {"matvec", [&] { r.matmul(); }},
      {"batched_matmul", [&] { r.matmul(); }},
      {"linear", [&] { r.linear(); }},
      {"linear_gelu", [&] { r.linear_gelu(); }},
      {"linear_int8", [&] { r.linear_int8(); }},
      {"attention", [&] { r.attention(false); }},
      {"attention_decode", [&] { r.attention(false); }},
      {"attention_causal", [&] { r.attention(true); }},
      {"conv2d", [&] { r.convolution(false); }},
      {"conv_bn_relu", [&] { r.convolution(true); }},
  };
  if (const auto found = workloads.find(c.workload); found != workloads.end()) found->second();
  return std::move(r.want);
}

}  // namespace

bool cancels(const std::string& workload) {
  static const std::set<std::string> exact_elements{"fused_chain", "softmax",   "logsumexp",  "rmsnorm",
                                                    "argmax",      "max",       "polynomial", "mask_bool",
                                                    "where_bool",  "count_bool"};
  return !exact_elements.contains(workload);
}

std::vector<Expected> expected(const Case& c) {
  return c.out[0].dtype == "float64" ? compute<long double>(c) : compute<double>(c);
}

}  // namespace bench
