// Compares samples with distributions, by Kolmogorov and Smirnov.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

/// Returns the largest distance between the distribution function of the sample and `cdf`, times sqrt(n):
/// above 1.95 with probability 0.001 (Kolmogorov 1933).
template <class F>
double distance(std::vector<double> v, F&& cdf) {
  std::sort(v.begin(), v.end());
  double d = 0;
  const auto n = static_cast<double>(v.size());
  for (size_t i = 0; i < v.size(); ++i) {
    const double at = cdf(v[i]), below = static_cast<double>(i) / n;
    d = std::max({d, std::abs(at - below), std::abs(below + 1 / n - at)});
  }
  return d * std::sqrt(n);
}
inline double normal_cdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }
