#include "lazy/quant/second_order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "lazy/autograd/backward.hpp"
#include "lazy/formula/formula.hpp"
#include "lazy/linalg/linalg.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/matmul.hpp"

namespace lazy::quant {
namespace {

using namespace lazy::detail;

constexpr double kDamping = 0.01;   // of the mean of the diagonal, added to it
constexpr int64_t kTogether = 128;  // columns whose errors go to the columns behind them together

/// Returns the upper factor of the inverse of the damped products: row i says how an error in column i is
/// spread over the columns from i on.
std::vector<double> spread_of(std::vector<double> h, int64_t k, const Site& s) {
  double mean = 0;
  for (int64_t i = 0; i < k; ++i) mean += h[static_cast<size_t>(i * k + i)] / static_cast<double>(k);
  if (!std::isfinite(mean))
    lazy::detail::fail<Error>("convert_", "a layer was given numbers that are not finite", s);
  for (int64_t i = 0; i < k; ++i) {
    double& d = h[static_cast<size_t>(i * k + i)];
    if (d == 0) d = 1;  // its column is 0
    d += kDamping * mean;
  }
  const Tensor all = from_span(std::span<const double>(h), {k, k}, {}, s);
  const Tensor inverse = cholesky_inverse(Arg(cholesky(Arg(all, s)), s));
  return cholesky(Arg(inverse, s), true).to_vector<double>(s);
}

/// Holds what is rounded: rows of weights, which change as columns are rounded, and their scales.
class Rounder {
 public:
  /// Takes columns in the order in which they are rounded: column i was column `from[i]`.
  Rounder(std::vector<double> w, std::vector<double> spread, std::vector<int64_t> from, int64_t n, int64_t k,
          const Scheme& how)
      : w_(std::move(w)), spread_(std::move(spread)), from_(std::move(from)), n_(n), k_(k), how_(how) {
    const int64_t length = how.granularity == Granularity::group ? how.group : k;
    groups_ = (k + length - 1) / length, length_ = length;
    const auto sets = static_cast<size_t>(how.granularity == Granularity::tensor ? 1 : n * groups_);
    scale_.assign(sets, 0), zero_.assign(sets, static_cast<double>(how.middle()));
    q_.assign(static_cast<size_t>(n * groups_ * length), how.granularity == Granularity::group ? NAN : 0);
    find_scales();
  }

  void run(const Site& s) {
    for (int64_t first = 0; first < k_; first += kTogether) {
      const int64_t last = std::min(first + kTogether, k_);
      std::vector<double> errors(static_cast<size_t>(n_ * (last - first)));
      for (int64_t r = 0; r < n_; ++r) row(r, first, last, &errors[static_cast<size_t>(r * (last - first))]);
      if (last < k_) spread(errors, first, last, s);
    }
  }

  RoundedWeights result(const Site& s) const {
    const bool by_group = how_.granularity == Granularity::group;
    const int64_t columns = by_group ? groups_ * length_ : k_;
    std::vector<double> q(static_cast<size_t>(n_ * columns));
    for (int64_t r = 0; r < n_; ++r)
      for (int64_t c = 0; c < columns; ++c)  // rows of groups are filled up with zeros
        q[static_cast<size_t>(r * columns + c)] =
            c < k_ ? q_[static_cast<size_t>(r * groups_ * length_ + c)] : zero_[set_of(r, c)];
    const Shape sets = by_group                                  ? Shape{n_, groups_}
                       : how_.granularity == Granularity::tensor ? Shape{}
                                                                 : Shape{n_};
    const auto of = [&](const std::vector<double>& v, const Shape& shape, DType t) {
      return from_span(std::span<const double>(v), shape, {}, s).astype(t, s).eval(s);
    };
    RoundedWeights made{of(q, {n_, columns}, how_.dtype()), {of(scale_, sets, float32), {}}};
    if (!how_.symmetric) made.affine.zero_point = of(zero_, sets, how_.dtype());
    return made;
  }

 private:
  size_t set_of(int64_t r, int64_t c) const {
    if (how_.granularity == Granularity::tensor) return 0;
    return static_cast<size_t>(r * groups_ + c / length_);
  }

  /// Finds the sets' scales as affine_of() does, in the weights as they were given.
  void find_scales() {
    std::vector<float> least(scale_.size(), 0), most(scale_.size(), 0);
    for (int64_t r = 0; r < n_; ++r)
      for (int64_t c = 0; c < k_; ++c) {
        const auto v = static_cast<float>(w_[static_cast<size_t>(r * k_ + c)]);
        const size_t set = set_of(r, from_[static_cast<size_t>(c)]);
        least[set] = std::min(least[set], v), most[set] = std::max(most[set], v);
      }
    const auto steps = static_cast<float>(how_.highest() - how_.lowest()),
               least_scale = static_cast<float>(kLeastScale);
    for (size_t set = 0; set < scale_.size(); ++set) {
      if (how_.symmetric) {
        scale_[set] = std::max(std::max(-least[set], most[set]) / (steps / 2), least_scale);
        continue;
      }
      const float scale = std::max((most[set] - least[set]) / steps, least_scale);
      scale_[set] = scale;
      zero_[set] = cut(static_cast<double>(how_.lowest()) - std::nearbyint(least[set] / scale));
    }
  }
  double cut(double q) const {
    return std::clamp(q, static_cast<double>(how_.lowest()), static_cast<double>(how_.highest()));
  }

  /// Rounds the columns of a block in one row, and spreads each one's error over those behind it there.
  void row(int64_t r, int64_t first, int64_t last, double* errors) {
    double* const w = &w_[static_cast<size_t>(r * k_)];
    for (int64_t c = first; c < last; ++c) {
      const int64_t column = from_[static_cast<size_t>(c)];
      const double scale = scale_[set_of(r, column)], zero = zero_[set_of(r, column)];
      const double* const spread = &spread_[static_cast<size_t>(c * k_)];
      const double q = cut(std::nearbyint(w[c] / scale) + zero), near = (q - zero) * scale;
      q_[static_cast<size_t>(r * groups_ * length_ + column)] = q;
      const double error = (w[c] - near) / spread[c];
      errors[c - first] = error;
      for (int64_t j = c; j < last; ++j) w[j] -= error * spread[j];
    }
  }

  /// Spreads the errors of a block over all columns behind it.
  void spread(const std::vector<double>& errors, int64_t first, int64_t last, const Site& s) {
    const int64_t rest = k_ - last;
    std::vector<double> u(static_cast<size_t>((last - first) * rest));
    for (int64_t i = first; i < last; ++i)
      std::copy_n(&spread_[static_cast<size_t>(i * k_ + last)], rest,
                  &u[static_cast<size_t>((i - first) * rest)]);
    const Tensor e = from_span(std::span<const double>(errors), {n_, last - first}, {}, s),
                 by = from_span(std::span<const double>(u), {last - first, rest}, {}, s);
    const auto d = matmul(Arg(e, s), Arg(by, s)).to_vector<double>(s);
    for (int64_t r = 0; r < n_; ++r)
      for (int64_t c = 0; c < rest; ++c)
        w_[static_cast<size_t>(r * k_ + last + c)] -= d[static_cast<size_t>(r * rest + c)];
  }

  std::vector<double> w_, spread_;
  std::vector<int64_t> from_;
  int64_t n_, k_, groups_ = 1, length_ = 1;
  Scheme how_;
  std::vector<double> scale_, zero_, q_;  // by set; integers, rows of whole groups
};

}  // namespace

RoundedWeights round_second_order(const Tensor& w, const Tensor& products, const Scheme& how, Site s) {
  check("round_second_order", how, s);
  const no_grad scope;
  const Shape shape = w.shape(s), of = products.shape(s);
  if (shape.size() != 2 || shape[0] == 0 || shape[1] == 0 || of != Shape{shape[1], shape[1]})
    lazy::detail::fail<ShapeError>("round_second_order",
                                   "takes a matrix (n, k) and products (k, k), not " +
                                       lazy::to_string(shape) + " and " + lazy::to_string(of),
                                   s);
  const int64_t n = shape[0], k = shape[1];
  auto values = w.astype(float64, s).to_vector<double>(s);
  auto h = products.astype(float64, s).to_vector<double>(s);
  for (int64_t c = 0; c < k; ++c)
    if (h[static_cast<size_t>(c * k + c)] == 0)
      for (int64_t r = 0; r < n; ++r) values[static_cast<size_t>(r * k + c)] = 0;
  // Columns that count most come first, while many are left that can make up for them.
  std::vector<int64_t> from(static_cast<size_t>(k));
  std::iota(from.begin(), from.end(), int64_t{0});
  const auto product = [&](int64_t i, int64_t j) { return h[static_cast<size_t>(i * k + j)]; };
  std::stable_sort(from.begin(), from.end(),
                   [&](int64_t a, int64_t b) { return product(a, a) > product(b, b); });
  std::vector<double> ordered(values.size()), ordered_products(h.size());
  for (int64_t c = 0; c < k; ++c) {
    const int64_t column = from[static_cast<size_t>(c)];
    for (int64_t r = 0; r < n; ++r)
      ordered[static_cast<size_t>(r * k + c)] = values[static_cast<size_t>(r * k + column)];
    for (int64_t j = 0; j < k; ++j)
      ordered_products[static_cast<size_t>(c * k + j)] = product(column, from[static_cast<size_t>(j)]);
  }
  Rounder rounder(std::move(ordered), spread_of(std::move(ordered_products), k, s), std::move(from), n, k,
                  how);
  rounder.run(s);
  return rounder.result(s);
}

}  // namespace lazy::quant
