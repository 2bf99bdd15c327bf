// Writes views, windows and ranges.
#include <algorithm>
#include <limits>

#include "lazy/onnx/export/parts.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy::onnx {

std::string Exporter::write_view(const Twin& t) {
  const Node& n = *t.a;
  const Twin o = operand(t, 0);
  const std::string x = name_of(o);
  if (n.op == Op::permute) return node("Transpose", {x}, {attribute("perm", listed(n.axes))});
  if (n.op == Op::broadcast) return node("Expand", {x, sizes(extents(t))});
  if (n.op == Op::window) return write_window(t);
  if (n.op == Op::reshape) {
    std::vector<TwinSize> all = extents(t);
    const auto differs = std::find_if(all.begin(), all.end(), [](const TwinSize& e) { return !e.same(); });
    if (differs != all.end() &&
        std::all_of(differs + 1, all.end(), [](const TwinSize& e) { return e.same(); }))
      *differs = {-1, -1};
    return node("Reshape", {x, sizes(all)});
  }
  std::vector<TwinSize> starts, ends;
  std::vector<int64_t> axes, steps;
  for (int a = 0; a < n.shape.size(); ++a) {
    const TwinSize start{n.ints[a], t.b ? t.b->ints[a] : n.ints[a]}, length = extent(t, a),
                                                                     from = extent(o, a);
    const int64_t step = n.steps[a];
    if (start.a == 0 && start.b == 0 && step == 1 && length.a == from.a && length.b == from.b) continue;
    const auto end = [&](int64_t begin, int64_t count) {
      const int64_t last = begin + (count - 1) * step;
      if (step > 0) return begin + count * step;  // behind the axis is its end
      return last + step < 0 ? std::numeric_limits<int64_t>::min() / 2 : last + step;
    };
    axes.push_back(a);
    steps.push_back(step);
    starts.push_back(start);
    ends.push_back({end(start.a, length.a), end(start.b, length.b)});
  }
  if (axes.empty()) return x;
  return node("Slice", {x, sizes(starts), sizes(ends), integers(axes), integers(steps)});
}

/// Writes overlapping windows as a gather along each axis, whose elements then go to an axis at the end.
std::string Exporter::write_window(const Twin& t) {
  const Node& n = *t.a;
  std::string x = name_of(operand(t, 0));
  const int rank = n.operand[0]->shape.size();
  for (int i = 0; i < n.axes.size(); ++i) {
    const auto axis = static_cast<int>(n.axes[i]);
    if (!extent(t, axis).same()) problem(n, "windows along the batch");
    const int64_t count = n.shape[axis], length = n.shape[rank + i];
    std::vector<int64_t> places;
    for (int64_t w = 0; w < count; ++w)
      for (int64_t k = 0; k < length; ++k) places.push_back(w * n.ints[i] + k * n.steps[i]);
    const std::string at = initializer(from_span(places, ShapeArg({count, length})));
    x = node("Gather", {x, at}, {attribute("axis", static_cast<int64_t>(axis))});
    std::vector<int64_t> order;
    for (int a = 0; a < rank + i + 1; ++a)
      if (a != axis + 1) order.push_back(a);
    order.push_back(axis + 1);
    x = node("Transpose", {x}, {attribute("perm", order)});
  }
  return x;
}

std::string Exporter::write_iota(const Twin& t) {
  const Node& n = *t.a;
  const auto axis = static_cast<int>(n.axes[0]);
  std::vector<int64_t> along(static_cast<size_t>(n.shape.size()), 1);
  if (n.shape.size() == 0) return number(0, int64);
  along[static_cast<size_t>(axis)] = -1;
  std::string x;
  if (extent(t, axis).same()) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < n.shape[axis]; ++i) values.push_back(i);
    x = integers(values);
  } else {
    const std::string end = node("Squeeze", {sizes({extent(t, axis)})});
    x = node("Range", {number(0, int64), end, number(1, int64)});
  }
  x = node("Reshape", {x, integers(along)});
  for (int a = 0; a < n.shape.size(); ++a)
    if (a != axis && n.shape[a] != 1) return node("Expand", {x, sizes(extents(t))});
  return x;
}

}  // namespace lazy::onnx
