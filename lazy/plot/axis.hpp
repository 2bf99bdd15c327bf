// Maps values to pixels along one axis, and says where its marks are. Internal to lazy/plot.
#pragma once
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "support/text.hpp"

namespace lazy::plot::detail {

struct Axis {
  double low = HUGE_VAL, high = -HUGE_VAL;  // values (of a log scale their logarithms)
  double first = 0, last = 1;               // pixels
  bool log = false;

  bool has(double v) const { return std::isfinite(v) && (!log || v > 0); }
  double scaled(double v) const { return log ? std::log10(v) : v; }
  void include(double v) {
    if (!has(v)) return;
    low = std::min(low, scaled(v));
    high = std::max(high, scaled(v));
  }
  /// Makes the range one of some length, around what it includes.
  void settle() {
    if (low > high) low = 0, high = 1;
    const double least = std::max(1e-12 * std::max(std::abs(low), std::abs(high)), 1e-300);
    if (high - low < least) {
      const double room = std::max(std::abs(low) * 0.5, 1e-12);
      low -= room, high += room;
    }
  }
  /// Widens the range on both sides by a share of it.
  void widen(double share) {
    const double room = (high - low) * share;
    low -= room, high += room;
  }
  void place(double from, double to) { first = from, last = to; }
  double at(double v) const { return first + (scaled(v) - low) / (high - low) * (last - first); }
  /// Returns about `count` round numbers in the range, as text and pixel.
  std::vector<std::pair<std::string, double>> marks(int count) const {
    const double rough = (high - low) / count, power = std::pow(10, std::floor(std::log10(rough)));
    const double step = power * (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1);
    std::vector<std::pair<std::string, double>> all;
    for (double v = std::ceil(low / step - 1e-9) * step; v <= high + step * 1e-9 && all.size() < 64;
         v += step) {
      const double shown = std::abs(v) < step * 1e-6 ? 0 : v;
      all.emplace_back(text::formatted(log ? "%.3g" : "%.6g", log ? std::pow(10, shown) : shown),
                       first + (v - low) / (high - low) * (last - first));
    }
    return all;
  }
};

}  // namespace lazy::plot::detail
