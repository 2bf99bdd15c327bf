// Numbers that follow from a name and a position: what tools/parity/formula.py computes, to the bit.
#pragma once
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/lazy.hpp"

namespace parity {

using lazy::Shape, lazy::Tensor;

/// Returns `count` numbers of 32 bits that depend on the name.
inline std::vector<uint32_t> bits(std::string_view name, int64_t count) {
  uint32_t seed = 2166136261u;
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 16777619u;
  std::vector<uint32_t> list(static_cast<size_t>(count));
  for (size_t i = 0; i < list.size(); ++i) {
    uint32_t x = seed + static_cast<uint32_t>(i) * 0x9E3779B9u;
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    list[i] = x ^ x >> 16;
  }
  return list;
}

/// Returns float32 in [-1, 1).
inline Tensor uniform(std::string_view name, const Shape& shape, float factor = 1, float offset = 0) {
  std::vector<float> list;
  for (const uint32_t b : bits(name, lazy::numel(shape))) {
    const float u = static_cast<float>(b >> 8) * 0x1p-23f - 1;
    list.push_back(offset + factor * u);
  }
  return lazy::from_span(list, shape);
}

inline Tensor integers(std::string_view name, const Shape& shape, uint32_t below) {
  std::vector<int64_t> list;
  for (const uint32_t b : bits(name, lazy::numel(shape))) list.push_back(b % below);
  return lazy::from_span(list, shape);
}

/// Returns what a parameter or buffer of that name begins with.
inline Tensor weight(const std::string& name, const Shape& shape) {
  if (shape.size() >= 2) {
    const auto fan = static_cast<double>(lazy::numel(shape) / shape[0]);
    return uniform(name, shape, static_cast<float>(std::sqrt(3.0 / fan)));
  }
  if (name.ends_with("running_var")) return uniform(name, shape, 0.5f, 1);
  if (name.ends_with(".weight")) return uniform(name, shape, 0.125f, 1);
  return uniform(name, shape, 0.125f);
}

/// Returns norm, product with a pattern and six elements.
inline std::vector<double> summary(const Tensor& x) {
  const std::vector<double> flat = x.to_vector<double>();
  const std::vector<double> pattern =
      uniform("pattern", {static_cast<int64_t>(flat.size())}).to_vector<double>();
  double squares = 0, product = 0;
  for (size_t i = 0; i < flat.size(); ++i) squares += flat[i] * flat[i], product += flat[i] * pattern[i];
  std::vector<double> r{std::sqrt(squares), product};
  for (size_t i = 0; i < 6; ++i) r.push_back(flat[i * (flat.size() - 1) / 5]);
  return r;
}

}  // namespace parity
