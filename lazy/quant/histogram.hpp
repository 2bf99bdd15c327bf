// Counts the numbers that a layer is given in bins of one width, and finds by the counts which of them a
// range should hold: a few far away ones cost all others bits.
#pragma once
#include <cstdint>
#include <vector>

#include "lazy/nn/modules/module.hpp"
#include "lazy/quant/scheme.hpp"

namespace lazy::quant {

/// Says how ranges of activations are found. min_max: the least and the largest of all. moving_average: as
/// they move in training, 0.99 of what they were and 0.01 of the present ones (torch's
/// MovingAverageMinMaxObserver). The others count in 2048 bins. percentile: all but the largest 0.01% of the
/// magnitudes. least_error: the magnitude up to which the sum of squared differences that rounding and
/// cutting make is the least. entropy: where the distribution of the rounded numbers tells most of that of
/// the numbers, by Kullback and Leibler's divergence (Migacz, 2017).
enum class Range : uint8_t { min_max, moving_average, percentile, least_error, entropy };

/// True for those that count in bins.
constexpr bool counts_in_bins(Range r) { return r != Range::min_max && r != Range::moving_average; }

/// Holds the counts. They are values of the graph: adding to them waits for nothing.
class Histogram {
 public:
  static constexpr int64_t kBins = 2048;

  explicit Histogram(Device);
  /// Counts the numbers of x, in a range that grows with them: what was counted before moves to the bins in
  /// which its bins' middles are.
  void add(const Tensor& x, const Site&);
  /// Returns the magnitude that the range should reach; 0 if no number was counted.
  double magnitude(Range, const Scheme&, const Site&) const;
  void visit(nn::Visitor&);

 private:
  Tensor low_, high_;  // (), float32: bounds of the bins; low_ is 0 or less, high_ 0 or more
  Tensor counts_;      // (kBins), float32
};

/// Returns the magnitude for numbers of which counts[b] have the magnitude (b + 1/2) `width`. Without counts
/// that are not 0 returns 0. `share` of the scheme's steps are on the side of 0 that reaches further: a half,
/// and all for numbers of one sign with zero points.
double magnitude_of(const std::vector<double>& counts, double width, Range, const Scheme&,
                    double share = 0.5);

}  // namespace lazy::quant
