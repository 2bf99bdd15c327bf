// Writes updates of slices: as values that are joined, or put into others.
#include "lazy/onnx/export/parts.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy::onnx {

/// Writes parts that are put one behind the other along an axis, and fill it, as one node.
std::optional<std::string> Exporter::write_concat(const Twin& last) {
  std::vector<Twin> parts;
  int axis = -1;
  Twin t = last;
  for (;;) {
    const Twin part = operand(t, 1);
    for (int a = 0; a < t.a->shape.size(); ++a) {
      if (t.a->steps[a] != 1) return {};
      if (part.a->shape[a] == t.a->shape[a]) continue;
      if ((axis >= 0 && axis != a) || !extent(part, a).same()) return {};
      axis = a;
    }
    parts.push_back(part);
    const Twin base = operand(t, 0);
    if (base.a->op == Op::constant && !base.a->ready()) break;
    if (base.a->op != Op::slice_update || base.a->ready()) return {};
    t = base;
  }
  if (axis < 0) return {};
  // From the last update, which ends the axis, to the first, which begins it.
  int64_t end = last.a->shape[axis];
  Names in;
  t = last;
  for (const Twin& p : parts) {
    end -= p.a->shape[axis];
    if (t.a->ints[axis] != end) return {};
    in.insert(in.begin(), name_of(p));
    t = operand(t, 0);
  }
  if (end != 0) return {};
  return node("Concat", in, {attribute("axis", static_cast<int64_t>(axis))});
}

std::string Exporter::write_update(const Twin& t) {
  const Node& n = *t.a;
  if (n.op != Op::slice_update) {
    problem(n, "there is no operator for it");
    return "none";
  }
  if (std::optional<std::string> joined = write_concat(t)) return *joined;
  const Twin base = operand(t, 0), part = operand(t, 1);
  std::vector<int64_t> pads(2 * static_cast<size_t>(n.shape.size()), 0);
  Shape mask;
  bool fits = true;
  for (int a = 0; a < n.shape.size(); ++a) {
    const bool whole = part.a->shape[a] == n.shape[a];
    fits = fits && n.steps[a] == 1 && (whole || extent(t, a).same());
    mask.push_back(whole ? 1 : n.shape[a]);
    pads[static_cast<size_t>(a)] = n.ints[a];
    pads[static_cast<size_t>(a + n.shape.size())] = n.shape[a] - n.ints[a] - part.a->shape[a];
    if (whole) pads[static_cast<size_t>(a)] = pads[static_cast<size_t>(a + n.shape.size())] = 0;
  }
  if (!fits) {
    problem(n, "an update with gaps, or of a part of the batch");
    return "none";
  }
  const bool filled = base.a->op == Op::constant && !base.a->ready();
  double fill = 0;
  if (filled) fill = constant_of(*base.a);
  const std::string padded = node("Pad", {name_of(part), integers(pads), number(fill, n.dtype)});
  if (filled) return padded;
  std::vector<uint8_t> inside(static_cast<size_t>(numel(mask)), 1);
  for (size_t i = 0; i < inside.size(); ++i) {
    size_t rest = i;
    for (int a = mask.size(); a-- > 0; rest /= static_cast<size_t>(mask[a])) {
      const auto at = static_cast<int64_t>(rest % static_cast<size_t>(mask[a]));
      if (mask[a] > 1 && (at < n.ints[a] || at >= n.ints[a] + part.a->shape[a])) inside[i] = 0;
    }
  }
  const std::string at = initializer(from_span(inside, ShapeArg(mask)).to(bool_));
  return node("Where", {at, padded, name_of(base)});
}

}  // namespace lazy::onnx
