#include "text_boxes.hpp"

#include <algorithm>

using namespace lazy;

namespace demo {
namespace {

constexpr double kThreshold = 0.3, kLeastMean = 0.5;  // of a pixel's probability, and of a box's mean
constexpr double kGrowth = 1.6;  // a box grows by this times its area over its circumference
constexpr int64_t kLeastSide = 3;

/// Holds a mask whose pixels are taken once each.
struct Mask {
  std::vector<bool> on;
  int64_t width, height;
  bool take(int64_t x, int64_t y) {
    if (x < 0 || y < 0 || x >= width || y >= height) return false;
    const auto at = static_cast<size_t>(y * width + x);
    return on[at] && (on[at] = false, true);
  }
};

/// Takes all pixels that touch one, and returns the box around them.
Box flood(Mask& mask, int64_t x, int64_t y) {
  Box box{x, y, x + 1, y + 1};
  std::vector<std::pair<int64_t, int64_t>> open{{x, y}};
  while (!open.empty()) {
    std::tie(x, y) = open.back();
    open.pop_back();
    box = {std::min(box.left, x), std::min(box.top, y), std::max(box.right, x + 1),
           std::max(box.bottom, y + 1)};
    for (int64_t dy = -1; dy <= 1; ++dy)
      for (int64_t dx = -1; dx <= 1; ++dx)
        if (mask.take(x + dx, y + dy)) open.emplace_back(x + dx, y + dy);
  }
  return box;
}

Box grown(const Box& b, int64_t width, int64_t height) {
  const auto by = static_cast<int64_t>(kGrowth * static_cast<double>(b.width() * b.height()) /
                                       static_cast<double>(2 * (b.width() + b.height())));
  return {std::max<int64_t>(b.left - by, 0), std::max<int64_t>(b.top - by, 0), std::min(b.right + by, width),
          std::min(b.bottom + by, height)};
}

/// Sorts boxes from top to bottom, and those whose middles are in one line from left to right.
void sort_by_lines(std::vector<Box>& boxes) {
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.top < b.top; });
  for (auto first = boxes.begin(); first != boxes.end();) {
    const int64_t middle = (first->top + first->bottom) / 2;
    const auto last = std::find_if(first, boxes.end(), [&](const Box& b) { return b.top > middle; });
    std::sort(first, last, [](const Box& a, const Box& b) { return a.left < b.left; });
    first = last;
  }
}

}  // namespace

std::vector<Box> find_boxes(const Tensor& probabilities) {
  const auto p = probabilities.to_vector<float>();
  Mask mask{std::vector<bool>(p.size()), probabilities.size(1), probabilities.size(0)};
  for (size_t i = 0; i < p.size(); ++i) mask.on[i] = p[i] > kThreshold;
  std::vector<Box> boxes;
  for (int64_t y = 0; y < mask.height; ++y)
    for (int64_t x = 0; x < mask.width; ++x) {
      if (!mask.take(x, y)) continue;
      const Box b = flood(mask, x, y);
      if (std::min(b.width(), b.height()) < kLeastSide) continue;
      double sum = 0;
      for (int64_t row = b.top; row < b.bottom; ++row)
        for (int64_t column = b.left; column < b.right; ++column)
          sum += p[static_cast<size_t>(row * mask.width + column)];
      if (sum >= kLeastMean * static_cast<double>(b.width() * b.height()))
        boxes.push_back(grown(b, mask.width, mask.height));
    }
  sort_by_lines(boxes);
  return boxes;
}

std::vector<std::string> read_characters(const Tensor& scores, const std::vector<std::string>& alphabet) {
  const auto best = argmax(scores, -1).to_vector<int64_t>();
  const auto steps = static_cast<size_t>(scores.size(1));
  std::vector<std::string> rows(static_cast<size_t>(scores.size(0)));
  for (size_t i = 0; i < best.size(); ++i) {
    const bool repeated = i % steps > 0 && best[i] == best[i - 1];
    if (best[i] > 0 && !repeated) rows[i / steps] += alphabet.at(static_cast<size_t>(best[i]));
  }
  return rows;
}

void draw_box(Tensor& picture, const Box& b) {
  const Tensor red = tensor<float>({0.9f, 0.1f, 0.1f});
  const Slice across = slice(b.left, b.right), down = slice(b.top, b.bottom);
  picture(b.top, across) = red;
  picture(b.bottom - 1, across) = red;
  picture(down, b.left) = red;
  picture(down, b.right - 1) = red;
}

}  // namespace demo
