#include "layers.hpp"

#include <algorithm>
#include <utility>

namespace report {
namespace {

constexpr double kGap = 28, kBetween = 40, kLane = 18;  // between boxes, between layers, width of a lane

/// A box, or a place through which an arrow goes.
struct Item {
  double width, height;
  std::vector<size_t> before, after;
  size_t layer = 0;
  double place = 0;  // centre, in the order of its layer
  double x = 0, y = 0;
};

using Layers = std::vector<std::vector<size_t>>;

/// Sorts the items of each layer by where their neighbours are, above and below in turns.
void order(std::vector<Item>& items, Layers& layers) {
  constexpr int kSweeps = 8;
  const auto number = [&](std::vector<size_t>& layer) {
    for (size_t i = 0; i < layer.size(); ++i) items[layer[i]].place = static_cast<double>(i);
  };
  for (auto& layer : layers) number(layer);
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (size_t k = 0; k < layers.size(); ++k) {
      const bool down = sweep % 2 == 0;
      auto& layer = layers[down ? k : layers.size() - 1 - k];
      std::vector<std::pair<double, size_t>> sorted;
      for (const size_t i : layer) {
        const auto& near = down ? items[i].before : items[i].after;
        double sum = 0;
        for (const size_t n : near) sum += items[n].place;
        sorted.emplace_back(near.empty() ? items[i].place : sum / static_cast<double>(near.size()), i);
      }
      std::stable_sort(sorted.begin(), sorted.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t i = 0; i < layer.size(); ++i) layer[i] = sorted[i].second;
      number(layer);
    }
}

/// Moves items to the middle of their neighbours, as far as the order and the gaps let them.
void straighten(std::vector<Item>& items, const Layers& layers) {
  constexpr int kSweeps = 12;
  const auto middle = [&](const Item& i) { return i.x + i.width / 2; };
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (size_t k = 0; k < layers.size(); ++k) {
      const bool down = sweep % 2 == 0;
      const auto& layer = layers[down ? k : layers.size() - 1 - k];
      // Boxes stand below boxes: a lane beside them gives way.
      const auto wanted = [&](size_t i) {
        const auto& near = down ? items[i].before : items[i].after;
        double sum = 0, of = 0;
        for (const bool lanes : {false, true}) {
          for (const size_t n : near)
            if ((items[n].width == kLane) == lanes) sum += middle(items[n]), ++of;
          if (of > 0) break;
        }
        return of > 0 ? sum / of - items[i].width / 2 : items[i].x;
      };
      double least = -1e30;
      for (const size_t i : layer) {
        items[i].x = std::max(wanted(i), least);
        least = items[i].x + items[i].width + kGap;
      }
      double most = 1e30;
      for (auto i = layer.rbegin(); i != layer.rend(); ++i) {
        items[*i].x = std::min(std::max(items[*i].x, -1e30), most - items[*i].width);
        most = items[*i].x - kGap;
      }
    }
}

}  // namespace

Layered place_in_layers(std::vector<LayeredBox>& boxes) {
  std::vector<Item> items;
  for (const LayeredBox& b : boxes) items.push_back({b.width, b.height, {}, {}});
  for (size_t i = 0; i < boxes.size(); ++i)
    for (const size_t f : boxes[i].from) items[i].layer = std::max(items[i].layer, items[f].layer + 1);
  // Who has nothing before comes right above its first reader.
  for (size_t i = boxes.size(); i-- > 0;) {
    size_t first = ~size_t{0};
    for (size_t k = i + 1; k < boxes.size(); ++k)
      if (std::find(boxes[k].from.begin(), boxes[k].from.end(), i) != boxes[k].from.end())
        first = std::min(first, items[k].layer);
    if (boxes[i].from.empty() && first != ~size_t{0}) items[i].layer = first - 1;
  }
  Layered out;
  std::vector<std::vector<size_t>> ways;  // items of each arrow, both boxes among them
  for (size_t i = 0; i < boxes.size(); ++i)
    for (const size_t f : boxes[i].from) {
      std::vector<size_t> way{f};
      for (size_t layer = items[f].layer + 1; layer < items[i].layer; ++layer) {
        way.push_back(items.size());
        items.push_back({kLane, 0, {}, {}, layer});
      }
      way.push_back(i);
      for (size_t k = 0; k + 1 < way.size(); ++k)
        items[way[k]].after.push_back(way[k + 1]), items[way[k + 1]].before.push_back(way[k]);
      out.arrows.push_back({f, i, {}});
      ways.push_back(std::move(way));
    }
  size_t count = 0;
  for (const Item& i : items) count = std::max(count, i.layer + 1);
  Layers layers(count);
  for (size_t i = 0; i < items.size(); ++i) layers[items[i].layer].push_back(i);
  order(items, layers);
  double y = 0;
  for (const auto& layer : layers) {
    double x = 0, height = 0;
    for (const size_t i : layer) {
      items[i].x = x, items[i].y = y;
      x += items[i].width + kGap;
      height = std::max(height, items[i].height);
    }
    for (const size_t i : layer)
      if (i >= boxes.size()) items[i].height = height;
    y += height + kBetween;
  }
  straighten(items, layers);
  double left = 1e30, right = -1e30;
  for (const Item& i : items) left = std::min(left, i.x), right = std::max(right, i.x + i.width);
  for (Item& i : items) i.x -= left;
  for (size_t i = 0; i < boxes.size(); ++i) boxes[i].x = items[i].x, boxes[i].y = items[i].y;
  for (size_t a = 0; a < ways.size(); ++a)
    for (size_t k = 0; k < ways[a].size(); ++k) {
      const Item& i = items[ways[a][k]];
      const double middle = i.x + i.width / 2;
      if (k > 0) out.arrows[a].points.emplace_back(middle, i.y);
      if (k + 1 < ways[a].size()) out.arrows[a].points.emplace_back(middle, i.y + i.height);
    }
  out.width = items.empty() ? 0 : right - left;
  out.height = items.empty() ? 0 : y - kBetween;
  return out;
}

}  // namespace report
