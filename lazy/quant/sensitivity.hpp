// Measures what integers cost a model, layer by layer, in decibels of its results, and finds the layers that
// are better left as they are.
//
//   const auto noise = quant::sensitivity(model, quant::int8_dynamic(), [&](Net& m) { return m(x); });
//   for (const auto& n : noise) std::printf("%-20s %5.1f dB\n", n.layer.c_str(), n.alone);   // worst first
//   const quant::Rules rules = quant::search(model, quant::int8_dynamic(), f, 30);           // 30 dB at
//   least quant::quantize_(model, rules);
#pragma once
#include <algorithm>
#include <concepts>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "lazy/quant/quantize.hpp"

namespace lazy::quant {

/// Returns 10 log10 of the sum of squares of `exact` over that of the differences; infinity if there are
/// none. ShapeError unless the shapes are equal.
double sqnr(const Tensor& exact, const Tensor& near, Site = Site::current());

/// Says what one layer costs the results: quantised by itself, and with all layers that come before it.
struct LayerNoise {
  std::string layer;
  double alone = 0, together = 0;  // decibels, sqnr() of the results
};

namespace detail {
/// Quantises a model by rules, running it by `run` where activations are fixed.
template <class M, class F>
std::vector<Change> quantise(M& model, const Rules& rules, F&& run, const Site& s) {
  const bool fixed = std::any_of(rules.begin(), rules.end(), [](const Rule& r) {
    return r.config && r.config->activations == Activations::fixed;
  });
  if (!fixed) return quantize_(model, rules, s);
  (void)prepare_(model, rules, Prepare::calibrate, s);
  (void)run(model).eval(s);
  return convert_(model, s);
}
/// Returns rules for these layers, in which others stay as they are.
Rules rules_for(const Config&, const std::vector<std::string>& layers);
}  // namespace detail

/// Quantises copies of the model, and compares what `f` returns of each, a Tensor, with what it returns of
/// the model. Returns one for each layer that the config is for, the worst alone first. `f` also gives
/// activations their ranges.
template <std::copy_constructible M, std::invocable<M&> F>
std::vector<LayerNoise> sensitivity(const M& model, const Config& config, F&& f, Site s = Site::current()) {
  const no_grad scope;
  M exact = model;
  const Tensor results = f(exact).eval(s);
  std::vector<std::string> names;
  {
    M all = model;
    names = prepare_(all, config, Prepare::calibrate, s);
  }
  std::vector<LayerNoise> noise;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto of = [&](const std::vector<std::string>& layers) {
      M some = model;
      detail::quantise(some, detail::rules_for(config, layers), f, s);
      return sqnr(results, f(some), s);
    };
    noise.push_back(
        {names[i], of({names[i]}), of({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i) + 1})});
  }
  std::stable_sort(noise.begin(), noise.end(),
                   [](const LayerNoise& a, const LayerNoise& b) { return a.alone < b.alone; });
  return noise;
}

/// Returns rules by which the results are within so many decibels: as few as possible of the layers that cost
/// most are left as they are, taken in the order of sensitivity().
template <std::copy_constructible M, std::invocable<M&> F>
Rules search(const M& model, const Config& config, F&& f, double decibels, Site s = Site::current()) {
  const no_grad scope;
  M exact = model;
  const Tensor results = f(exact).eval(s);
  std::vector<std::string> names;
  for (const LayerNoise& n : sensitivity(model, config, f, s)) names.push_back(n.layer);
  for (size_t left_out = 0; left_out < names.size(); ++left_out) {
    const Rules rules =
        detail::rules_for(config, {names.begin() + static_cast<std::ptrdiff_t>(left_out), names.end()});
    M some = model;
    detail::quantise(some, rules, f, s);
    if (sqnr(results, f(some), s) >= decibels) return rules;
  }
  return {};
}

}  // namespace lazy::quant
