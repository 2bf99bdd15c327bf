#include "lazy/autograd/parts.hpp"

#include <algorithm>

#include "lazy/core/build.hpp"
#include "lazy/ops/joining.hpp"

namespace lazy::detail {
namespace {

using Part = Gradients::Part;
constexpr const char* kName = "gradient of slice";

/// Returns the one axis along which the part is not all of the value; -1 if there is none, if there are
/// several, or a step.
int cut_axis(const Part& p, const Shape& whole) {
  int axis = -1;
  for (int a = 0; a < whole.size(); ++a) {
    const int64_t n = p.gradient->shape[a];
    if (n > 1 && p.step[a] != 1) return -1;
    if (n == whole[a]) continue;
    if (axis >= 0) return -1;
    axis = a;
  }
  return axis;
}

/// Sorts the parts along the axis; true if they are side by side and together all of it.
bool side_by_side(std::vector<Part>& parts, const Shape& whole, int axis) {
  if (axis < 0) return false;
  for (const Part& p : parts)
    if (cut_axis(p, whole) != axis) return false;
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const Part& a, const Part& b) { return a.start[axis] < b.start[axis]; });
  int64_t at = 0;
  for (const Part& p : parts) {
    if (p.start[axis] != at) return false;
    at += p.gradient->shape[axis];
  }
  return at == whole[axis];
}

/// True if some parts lie behind the others along an axis, so that no two share an element.
bool apart(std::vector<Part>& parts, const Shape& whole) {
  for (int axis = 0; axis < whole.size(); ++axis) {
    std::stable_sort(parts.begin(), parts.end(),
                     [&](const Part& a, const Part& b) { return a.start[axis] < b.start[axis]; });
    int64_t end = 0;
    bool free = true;
    for (const Part& p : parts) {
      free &= p.start[axis] >= end;
      end = p.start[axis] + (p.gradient->shape[axis] - 1) * p.step[axis] + 1;
    }
    if (free) return true;
  }
  return false;
}

}  // namespace

Handle put_together(const Handle& value, std::vector<Part> parts) {
  const Shape& whole = value->shape;
  const Site s = parts.back().site;
  if (parts.size() > 1 && side_by_side(parts, whole, cut_axis(parts[0], whole))) {
    std::vector<Tensor> gradients;
    for (const Part& p : parts) gradients.push_back(Tensor(p.gradient));
    return concat(gradients, cut_axis(parts[0], whole), s).handle();
  }
  const bool free = parts.size() == 1 || apart(parts, whole);
  Handle all = constant(0, value->dtype, whole, value, s);
  for (const Part& p : parts) {
    Handle part = p.gradient;
    if (!free) part = binary(kName, Op::add, slice(all, p.start, p.step, part->shape, p.site), part, p.site);
    all = slice_update(kName, all, part, p.start, p.step, p.site);
  }
  return all;
}

}  // namespace lazy::detail
