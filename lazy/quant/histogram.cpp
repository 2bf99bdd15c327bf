#include "lazy/quant/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lazy/autograd/backward.hpp"
#include "lazy/formula/formula.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy::quant {
namespace {

using namespace lazy::detail;

constexpr double kInside = 0.9999;    // share of the numbers that a percentile holds
constexpr double kLeastShare = 1e-6;  // what levels are taken to tell of a bin of which they tell nothing
constexpr int kTried = 128;           // magnitudes that least_error and entropy compare

/// Returns the sum of squared differences where magnitudes are rounded to multiples of a scale, and cut.
double error_of(const std::vector<double>& counts, double width, double most, double steps) {
  const double scale = most / steps;
  double sum = 0;
  for (size_t b = 0; b < counts.size(); ++b) {
    if (counts[b] == 0) continue;
    const double x = (static_cast<double>(b) + 0.5) * width;
    const double d = x - scale * std::min(std::nearbyint(x / scale), std::floor(steps));
    sum += counts[b] * d * d;
  }
  return sum;
}

/// Returns the divergence of the counts of the first `bins` bins, those beyond put into the last one, from
/// what `levels` levels tell of them.
double divergence_of(const std::vector<double>& counts, size_t bins, size_t levels) {
  std::vector<double> p(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(bins)), q(bins, 0);
  p.back() += std::accumulate(counts.begin() + static_cast<std::ptrdiff_t>(bins), counts.end(), 0.0);
  for (size_t l = 0; l < levels; ++l) {
    const size_t first = l * bins / levels, last = (l + 1) * bins / levels;
    double total = 0;
    size_t some = 0;
    for (size_t b = first; b < last; ++b) total += counts[b], some += p[b] > 0;
    for (size_t b = first; b < last; ++b)
      if (p[b] > 0) q[b] = total / static_cast<double>(some);
  }
  const double of_p = std::accumulate(p.begin(), p.end(), 0.0),
               of_q = std::accumulate(q.begin(), q.end(), 0.0);
  double sum = 0;
  for (size_t b = 0; b < bins; ++b) {
    if (p[b] == 0) continue;
    sum += p[b] / of_p * std::log(p[b] / of_p / std::max(q[b] / of_q, kLeastShare));
  }
  return sum;
}

double of_percentile(const std::vector<double>& counts, double width, double all) {
  double seen = 0;
  for (size_t b = 0; b < counts.size(); ++b)
    if ((seen += counts[b]) >= kInside * all) return static_cast<double>(b + 1) * width;
  return static_cast<double>(counts.size()) * width;
}

/// Returns of the magnitudes k/kTried of the largest the one for which f(bins) is the least.
template <class F>
double of_least(double width, size_t used, F&& f) {
  double best = std::numeric_limits<double>::infinity(), magnitude = static_cast<double>(used) * width;
  for (int k = kTried; k > 0; --k) {
    const size_t bins = used * static_cast<size_t>(k) / kTried;
    if (bins == 0) break;
    if (const double cost = f(bins); cost < best) best = cost, magnitude = static_cast<double>(bins) * width;
  }
  return magnitude;
}

}  // namespace

double magnitude_of(const std::vector<double>& counts, double width, Range range, const Scheme& how,
                    double share) {
  const double steps = static_cast<double>(how.highest() - how.lowest()) * share;
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  if (all == 0) return 0;
  size_t used = counts.size();
  while (counts[used - 1] == 0) --used;
  if (range == Range::percentile) return of_percentile(counts, width, all);
  if (range == Range::least_error)
    return of_least(width, used, [&](size_t bins) {
      return error_of(counts, width, static_cast<double>(bins) * width, steps);
    });
  const auto levels = static_cast<size_t>(std::ceil(steps));  // of magnitudes
  return of_least(width, used, [&](size_t bins) {
    return bins < levels ? std::numeric_limits<double>::infinity() : divergence_of(counts, bins, levels);
  });
}

Histogram::Histogram(Device d)
    : low_(full({}, 0, float32, d)), high_(full({}, 0, float32, d)), counts_(full({kBins}, 0, float32, d)) {}

void Histogram::visit(nn::Visitor& v) {
  v.member("low", low_);
  v.member("high", high_);
  v.member("counts", counts_);
}

void Histogram::add(const Tensor& x, const Site& s) {
  const no_grad scope;
  Arg a(x, s), l(low_, s), h(high_, s), c(counts_, s);
  const Formula f("observe", {&l});
  const Term given = f.term(f.as(f.work, a.handle())), counts = f.term(c);
  const Term all = reshape(given, {numel(given.shape())}), old_low = f.term(l), old_high = f.term(h);
  const Term low = minimum(old_low, reshape(-max(-all, {}), {})),
             high = maximum(old_high, reshape(max(all, {}), {}));
  constexpr auto kAll = static_cast<double>(kBins);
  const Term width = maximum((high - low) / kAll, static_cast<double>(std::numeric_limits<float>::min()));
  const auto bins_of = [&](const Term& v) {
    return minimum(maximum(floor((v - low) / width), 0.0), kAll - 1).as(DType::int64);
  };
  const auto added = [&](const Term& to, const Term& bins, const Term& many) {
    return f.term(
        scatter_add(f.arg(to.handle()), 0, f.arg(bins.handle()), f.arg(many.handle()), Bounds::clip));
  };
  const Term middles = f.index(0, {kBins}, counts).as(f.work) + 0.5;
  const Term before = old_low + middles * ((old_high - old_low) / kAll);
  const Term none = f.term(f.filled(0, f.work, {kBins}, counts.handle()));
  const Term moved = added(none, bins_of(before), counts);
  const Term ones = f.term(f.filled(1, f.work, all.shape(), counts.handle()));
  counts_ = f.tensor(added(moved, bins_of(all), ones).handle());
  low_ = f.tensor(low.handle()), high_ = f.tensor(high.handle());
}

double Histogram::magnitude(Range range, const Scheme& how, const Site& s) const {
  const auto counts = counts_.to_vector<float>(s);
  const double low = low_.item<float>(s), high = high_.item<float>(s),
               width = (high - low) / static_cast<double>(kBins);
  if (width == 0) return 0;
  // Magnitudes in bins of the same width.
  std::vector<double> of_magnitude(static_cast<size_t>(kBins), 0);
  for (size_t b = 0; b < counts.size(); ++b) {
    const double middle = std::abs(low + (static_cast<double>(b) + 0.5) * width);
    of_magnitude[std::min(static_cast<size_t>(middle / width), counts.size() - 1)] += counts[b];
  }
  const double share = how.symmetric ? 0.5 : std::max(high, -low) / (high - low);
  return magnitude_of(of_magnitude, width, range, how, share);
}

}  // namespace lazy::quant
