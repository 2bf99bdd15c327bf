// Implements pad: constants in one piece, the other modes axis by axis.
#include <algorithm>

#include "lazy/core/scalar.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy {
namespace {
using namespace detail;

using Widths = std::vector<std::pair<int64_t, int64_t>>;

/// Describes a stretch of an endless axis in which the elements run up, or down, through a part of the
/// tensor's.
struct Run {
  int64_t first;   // element at the beginning of the stretch
  int64_t step;    // 1 or -1
  int64_t length;  // in elements, above 0
};

/// Returns one period of the endless axis, which begins at position 0.
std::vector<Run> period(const std::string& mode, int64_t n) {
  if (mode == "wrap") return {{0, 1, n}};
  if (mode == "symmetric") return {{0, 1, n}, {n - 1, -1, n}};
  if (n == 1) return {{0, 1, 1}};
  return {{0, 1, n - 1}, {n - 1, -1, n - 1}};
}

/// Appends the elements at positions [from, to) of the endless axis, which has one period or less there.
void append_runs(const Recorder& r, const Handle& h, int axis, const std::vector<Run>& runs, int64_t whole,
                 int64_t from, int64_t to, std::vector<Tensor>& parts) {
  while (from < to) {
    int64_t within = (from % whole + whole) % whole;
    size_t i = 0;
    while (within >= runs[i].length) within -= runs[i++].length;
    const int64_t length = std::min(runs[i].length - within, to - from);
    parts.push_back(r.tensor(r.part(h, axis, runs[i].first + within * runs[i].step, length, runs[i].step)));
    from += length;
  }
}

/// Appends the elements at positions [from, to) of the endless axis. Where that is more than one period, a
/// period is repeated: one part, however many there are.
void append(const Recorder& r, const Handle& h, int axis, const std::vector<Run>& runs, int64_t from,
            int64_t to, std::vector<Tensor>& parts) {
  int64_t whole = 0;
  for (const Run& run : runs) whole += run.length;
  const int64_t length = to - from;
  if (length <= whole) return append_runs(r, h, axis, runs, whole, from, to, parts);
  std::vector<Tensor> once;
  append_runs(r, h, axis, runs, whole, from, from + whole, once);
  Shape counts(h->shape.size(), 1);
  counts[axis] = (length - 1) / whole + 1;
  const Tensor many = tile(r.arg(concat(once, axis, r.site).handle()), counts);
  parts.push_back(r.tensor(r.part(many.handle(), axis, 0, length)));
}

/// Repeats the element at one end `width` times.
Tensor edge(const Recorder& r, const Handle& h, int axis, int64_t at, int64_t width) {
  Shape shape = h->shape;
  shape[axis] = width;
  return r.tensor(r.broadcast(r.part(h, axis, at, 1), shape));
}

Handle padded_axis(const Recorder& r, const Handle& h, int axis, int64_t before, int64_t after,
                   const std::string& mode) {
  const int64_t n = h->shape[axis];
  std::vector<Tensor> parts;
  if (mode == "edge") {
    if (before > 0) parts.push_back(edge(r, h, axis, 0, before));
    parts.push_back(r.tensor(h));
    if (after > 0) parts.push_back(edge(r, h, axis, n - 1, after));
  } else {
    const std::vector<Run> runs = period(mode, n);
    append(r, h, axis, runs, -before, 0, parts);
    parts.push_back(r.tensor(h));
    append(r, h, axis, runs, n, n + after, parts);
  }
  return concat(parts, axis, r.site).handle();
}

/// Returns the padded shape, and one pair of widths for each axis.
Shape checked(const Recorder& r, const Shape& shape, Widths& widths) {
  if (widths.size() == 1) widths.resize(static_cast<size_t>(shape.size()), widths[0]);
  if (widths.size() != static_cast<size_t>(shape.size()))
    r.fail<ShapeError>(std::to_string(widths.size()) + " pairs of widths for shape " + to_string(shape));
  Shape result = shape;
  for (int i = 0; i < shape.size(); ++i) {
    const auto [before, after] = widths[static_cast<size_t>(i)];
    if (before < 0 || after < 0)
      r.fail<ShapeError>("a width can't be negative: " + std::to_string(std::min(before, after)));
    result[i] = detail::narrow(r.name, "an extent of", Wide(shape[i]) + before + after, r.site);
  }
  check_countable(r.name, result, r.site);
  return result;
}

}  // namespace

Tensor pad(Arg x, const PadWidths& widths, const std::string& mode, ScalarNumber value) {
  const Recorder r{"pad", x.site()};
  Handle h = Operand(r.name, x).take();
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "symmetric" && mode != "wrap")
    r.fail<Error>("the mode is \"constant\", \"edge\", \"reflect\", \"symmetric\" or \"wrap\", not \"" +
                  mode + "\"");
  Widths each = widths.values;
  const Shape result = checked(r, h->shape, each);
  if (mode == "constant") {
    if (!number_fits(value, h->dtype))
      r.fail<DtypeError>("the value does not fit " + std::string(name_of(h->dtype)));
    if (result == h->shape) return r.tensor(h, x);
    const Handle around = r.filled(value, h->dtype, result, h);
    if (numel(h->shape) == 0) return r.tensor(around);
    Dims start;
    for (const auto& w : each) start.push_back(w.first);
    return r.tensor(slice_update(r.name, around, h, start, Dims(start.size(), 1), r.site));
  }
  for (int i = 0; i < result.size(); ++i) {
    const auto [before, after] = each[static_cast<size_t>(i)];
    if (before + after == 0) continue;
    if (h->shape[i] == 0)
      r.fail<ShapeError>("axis " + std::to_string(i) + " of " + to_string(h->shape) + " has no elements to " +
                         mode);
    h = padded_axis(r, h, i, before, after, mode);
  }
  return r.tensor(h, x);
}

}  // namespace lazy
