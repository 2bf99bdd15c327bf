#include "lazy/models/rope.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lazy::models {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

/// Returns base^(-2 i / width).
std::vector<double> plain_frequencies(double base, int64_t width) {
  std::vector<double> all;
  for (int64_t i = 0; i < width / 2; ++i)
    all.push_back(std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(width)));
  return all;
}

void slow_by_wavelength(const RopeScaling& r, double positions, std::vector<double>& all) {
  for (double& f : all) {
    const double turns = positions * f / kTurn;
    const double fast =
        std::clamp((turns - r.low_freq_factor) / (r.high_freq_factor - r.low_freq_factor), 0.0, 1.0);
    f = (1 - fast) * f / r.factor + fast * f;
  }
}

void slow_by_pair(const RopeScaling& r, double positions, double base, std::vector<double>& all) {
  const auto half = static_cast<double>(all.size());
  const auto pair_of = [&](double turns) {
    return half * std::log(positions / (turns * kTurn)) / std::log(base);
  };
  const double first = std::max(std::floor(pair_of(r.beta_fast)), 0.0);
  double last = std::min(std::ceil(pair_of(r.beta_slow)), 2 * half - 1);
  if (first == last) last += 0.001;  // as in the formula's own implementation: a step in place of a ramp
  for (size_t i = 0; i < all.size(); ++i) {
    const double slow = std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0);
    all[i] = slow * all[i] / r.factor + (1 - slow) * all[i];
  }
}

double yarn_scale(const RopeScaling& r) {
  if (r.attention_factor > 0) return r.attention_factor;
  const auto scale = [&](double m) { return r.factor <= 1 ? 1 : 0.1 * m * std::log(r.factor) + 1; };
  if (r.mscale > 0 && r.mscale_all_dim > 0) return scale(r.mscale) / scale(r.mscale_all_dim);
  return scale(1);
}

/// Returns by what queries and keys are larger in a model for more positions than it was trained for first:
/// sqrt(1 + log(positions / original) / log(original)).
double longrope_scale(const RopeScaling& r, int64_t positions) {
  if (r.attention_factor > 0) return r.attention_factor;
  const bool known = r.original_max_position_embeddings > 0;
  const auto all = static_cast<double>(positions),
             original = known ? static_cast<double>(r.original_max_position_embeddings) : all,
             longer = known ? all / original : r.factor;
  return longer <= 1 ? 1 : std::sqrt(1 + std::log(longer) / std::log(original));
}

}  // namespace

RopeFrequencies rope_frequencies(const RopeScaling& r, double base, int64_t width, int64_t positions,
                                 int64_t length) {
  RopeFrequencies result;
  const auto original = static_cast<double>(
      r.original_max_position_embeddings > 0 ? r.original_max_position_embeddings : positions);
  if (r.type == RopeType::none && r.factors.empty()) return result;
  if (r.type == RopeType::dynamic) {
    const double longest = std::max(static_cast<double>(length), original), n = static_cast<double>(width);
    base *= std::pow(r.factor * longest / original - (r.factor - 1), n / (n - 2));
  }
  std::vector<double> all = plain_frequencies(base, width);
  if (r.type == RopeType::linear)
    for (double& f : all) f /= r.factor;
  if (r.type == RopeType::llama3) slow_by_wavelength(r, original, all);
  if (r.type == RopeType::yarn) {
    slow_by_pair(r, original, base, all);
    result.scale = yarn_scale(r);
  }
  const bool is_long = r.type == RopeType::longrope && static_cast<double>(length) > original;
  if (r.type == RopeType::longrope) result.scale = longrope_scale(r, positions);
  const std::vector<float>& slower = is_long ? r.long_factors : r.factors;
  for (size_t i = 0; i < std::min(all.size(), slower.size()); ++i) all[i] /= slower[i];
  result.values.assign(all.begin(), all.end());
  return result;
}

}  // namespace lazy::models
