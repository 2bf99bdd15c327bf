#include "lazy/nn/functional/padding.hpp"

#include <algorithm>
#include <limits>

#include "lazy/core/memory_format.hpp"
#include "lazy/nn/functional/positions.hpp"

namespace lazy {
namespace detail {

DType position_type(const Term& x, int64_t extent) {
  return std::max(numel(x.shape()), extent) <= std::numeric_limits<int32_t>::max() / 4 ? int32 : int64;
}

Term positions(const Term& x, int axis, int64_t extent) {
  return x.formula().index(axis, along_axis(x.rank(), axis, extent), x).as(position_type(x, extent));
}

// The axes become one, so that one gather reads them all: x (..., 1, ..., 1, flat, ...) does not move along
// the others of the positions' axes.
Term at(const Term& x, int first, const std::vector<Term>& position) {
  const int count = static_cast<int>(position.size());
  Shape flat = x.shape();
  Term index;
  int64_t elements = 1;
  for (int a = count - 1; a >= 0; --a) {
    const Term step = elements == 1 ? position[static_cast<size_t>(a)]
                                    : position[static_cast<size_t>(a)] * static_cast<double>(elements);
    index = a == count - 1 ? step : index + step;
    elements *= x.extent(first + a);
    flat[first + a] = 1;
  }
  flat[first + count - 1] = elements;
  return gathered(reshape(x, flat), index, first + count - 1, Bounds::clip);
}

namespace {

/// Returns where an element of a padded axis comes from: `i` counts from `before` elements before the axis.
Term source(const Term& i, int64_t before, int64_t extent, PadMode mode) {
  const Term p = i - static_cast<double>(before);
  const double last = static_cast<double>(extent - 1);
  if (mode == PadMode::replicate) return minimum(maximum(p, 0.0), last);
  if (mode == PadMode::circular) return p % static_cast<double>(extent);
  return last - abs(last - abs(p));
}

void check_pad(const Term& x, int axis, int64_t most, PadMode mode) {
  const int64_t extent = x.extent(axis);
  const bool fits = mode == PadMode::reflect    ? most < extent
                    : mode == PadMode::circular ? most <= extent
                                                : most == 0 || extent > 0;
  const char* const name = mode == PadMode::reflect    ? "reflect"
                           : mode == PadMode::circular ? "circular"
                                                       : "replicate";
  if (!fits && most > 0)
    x.formula().fail<ShapeError>(std::to_string(most) + " elements beside axis " + std::to_string(axis) +
                                 " of " + to_string(x.shape()) + " are too many for mode " + name);
}

/// Puts x among elements of a value.
Term surrounded(const Term& x, const Dims& start, const Shape& shape, const ScalarNumber& value) {
  const Formula& f = x.formula();
  const Handle base = constant(value, x.handle()->dtype, shape, x.handle(), f.site);
  if (numel(x.shape()) == 0) return f.term(base);
  return f.term(slice_update(f.name, base, x.handle(), start, Dims(start.size(), 1), f.site));
}

}  // namespace

Term padded(const Term& given, int first, const Dims& given_before, const Dims& given_after, PadMode mode,
            const ScalarNumber& value) {
  const Formula& f = given.formula();
  Term x = given;
  Dims start(x.rank(), 0), before = given_before, after = given_after;
  Shape shape = x.shape();
  bool pads = false;
  for (int a = 0; a < before.size(); ++a) {
    const int axis = first + a;
    const int64_t extent = given.extent(axis);
    const Wide sum = Wide(extent) + before[a] + after[a];
    if (sum < 0 || (before[a] < 0 && -Wide(before[a]) > extent) || (after[a] < 0 && -Wide(after[a]) > extent))
      f.fail<ShapeError>("fewer than no elements would be left of axis " + std::to_string(axis) + " of " +
                         to_string(given.shape()));
    shape[axis] = narrow(f.name, "a padded extent of", sum, f.site);
    start[axis] = std::max<int64_t>(before[a], 0);
    pads = pads || before[a] > 0 || after[a] > 0;
  }
  check_countable(f.name, shape, f.site);
  // Elements are removed first, but where what is mirrored or repeated may be one of them.
  if (mode == PadMode::constant || mode == PadMode::circular || !pads) {
    for (int a = 0; a < before.size(); ++a) {
      const int64_t from = std::min(std::max<int64_t>(-before[a], 0), x.extent(first + a)),
                    to = std::max(x.extent(first + a) + std::min<int64_t>(after[a], 0), from);
      x = part(x, first + a, from, to - from);
      before[a] = std::max<int64_t>(before[a], 0), after[a] = std::max<int64_t>(after[a], 0);
    }
    if (!pads) return x;
    if (mode == PadMode::constant) return surrounded(x, start, shape, value);
  }
  std::vector<Term> position;
  for (int a = 0; a < before.size(); ++a) {
    const int axis = first + a;
    check_pad(x, axis, std::max(before[a], after[a]), mode);
    position.push_back(source(positions(x, axis, shape[axis]), before[a], x.extent(axis), mode));
  }
  return at(x, first, position);
}

}  // namespace detail

Tensor pad(Arg x, const Pads& given, PadMode mode, ScalarNumber value) {
  using namespace detail;
  const Formula f("pad", x.site());
  const std::vector<int64_t>& pads = given.values;
  const Term v = f.term(Operand(f.name, x).take());
  const int count = static_cast<int>(pads.size() / 2), rank = v.rank();
  if (pads.size() % 2 || static_cast<int64_t>(pads.size()) > 2 * rank)
    f.fail<ShapeError>(std::to_string(pads.size()) + " pads for " + std::to_string(rank) + " axes");
  if (value.kind == ScalarNumber::Kind::integer && value.i == 0)
    value = ScalarNumber(false);  // goes into every dtype
  if (mode == PadMode::constant) (void)stored_as(f.name, Arg(value, f.site), v.handle()->dtype);
  Dims before(count, 0), after(count, 0);
  for (int a = 0; a < count; ++a) {
    before[count - 1 - a] = pads[static_cast<size_t>(2 * a)];
    after[count - 1 - a] = pads[static_cast<size_t>(2 * a + 1)];
  }
  Composite whole(f.name, {&v.handle()}, f.site);
  Handle r = v.handle();
  if (count > 0 && r->channels_last) {
    Dims before_last(rank, 0), after_last(rank, 0);  // by axis of (N, spatial..., C)
    for (int a = rank - count; a < rank; ++a) {
      const int to = axis_last(a, rank);
      before_last[to] = before[a - rank + count], after_last[to] = after[a - rank + count];
    }
    r = seen_first(padded(f.term(seen_last(r, f.site)), 0, before_last, after_last, mode, value).handle(),
                   f.site);
  } else if (count > 0) {
    r = padded(v, rank - count, before, after, mode, value).handle();
  }
  return f.tensor(whole.result(r), x);
}

}  // namespace lazy
