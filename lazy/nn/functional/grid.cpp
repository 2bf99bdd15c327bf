#include <limits>

#include "lazy/nn/functional/positions.hpp"
#include "lazy/nn/functional/resize.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Returns the coordinate mirrored at both ends of a range, twice whose ends are given.
Term mirrored(const Term& x, double twice_low, double twice_high) {
  if (twice_low == twice_high) return x * 0.0;
  const double low = twice_low / 2, span = (twice_high - twice_low) / 2;
  const Term d = abs(x - low), flips = floor(d / span), rest = d - flips * span;
  const Term even = flips - floor(flips * 0.5) * 2.0;
  return where(even == 0.0, rest + low, (span + low) - rest);
}

/// Returns a position in an axis of `extent` elements, brought inside of it unless outside is 0.
Term brought_inside(Term p, int64_t extent, const GridOptions& o) {
  const double n = static_cast<double>(extent);
  if (o.padding == GridPadding::reflection)
    p = o.align_corners ? mirrored(p, 0, 2 * (n - 1)) : mirrored(p, -1, 2 * n - 1);
  if (o.padding != GridPadding::zeros) p = minimum(maximum(p, 0.0), n - 1);
  // A position that no integer can say is outside.
  constexpr double most = 1 << 30;
  return where(abs(p) < most, p, -100.0);
}

/// Returns positions in an axis of `extent` elements for coordinates of which -1 to 1 are the axis.
Term unscaled(const Term& given, int64_t extent, const GridOptions& o) {
  const double n = static_cast<double>(extent);
  const Term g = where(given == given, given, -1.0);
  return o.align_corners ? (g + 1.0) / 2.0 * (n - 1) : ((g + 1.0) * n - 1.0) / 2.0;
}

/// Holds the positions of a corner along an axis, inside of it, which of them were, and their weight.
struct Corner {
  Term position, inside, weight;
};

Corner corner(const Term& p, const Term& weight, int64_t extent, DType index) {
  const double last = static_cast<double>(extent - 1);
  return {minimum(maximum(p, 0.0), last).as(index), (p >= 0.0) & (p <= last), weight};
}

/// Returns the four elements around a position and their weights: Keys' cubic convolution with A = -0.75.
std::vector<Corner> cubic(const Term& p, int64_t extent, const GridOptions& o, DType index) {
  const Term low = floor(p), t = p - low;
  constexpr double A = -0.75;
  const auto inner = [](const Term& d) { return ((A + 2) * d - (A + 3)) * d * d + 1.0; };
  const auto outer = [](const Term& d) { return ((A * d - 5 * A) * d + 8 * A) * d - 4 * A; };
  const Term weights[] = {outer(t + 1.0), inner(t), inner(1.0 - t), outer(2.0 - t)};
  std::vector<Corner> r;
  for (int k = -1; k <= 2; ++k)
    r.push_back(
        corner(brought_inside(low + static_cast<double>(k), extent, o), weights[k + 1], extent, index));
  return r;
}

/// Sums the corners around each position, axis by axis.
Term around(const Term& x, const std::vector<std::vector<Corner>>& corners, std::vector<Term>& chosen,
            const Term& inside, const Term& weight) {
  const size_t axis = chosen.size();
  if (axis == corners.size()) {
    const Term value = at(x, 2, chosen);
    const Term seen = where(inside, value, 0.0);
    return weight.handle() ? seen * weight : seen;
  }
  Term total;
  for (const Corner& c : corners[axis]) {
    chosen.push_back(c.position);
    const Term one = around(x, corners, chosen, axis ? inside & c.inside : c.inside,
                            !c.weight.handle() ? weight
                            : weight.handle()  ? weight * c.weight
                                               : c.weight);
    chosen.pop_back();
    total = total.handle() ? total + one : one;
  }
  return total;
}

}  // namespace

Tensor grid_sample(Arg x, Arg grid, const GridOptions& o) {
  const Formula f("grid_sample", {&x, &grid});
  const Term v = f.term(x), g = f.term(grid);
  const int n = v.rank() - 2;
  if (n < 1 || n > 3 || g.rank() != v.rank() || g.extent(0) != v.extent(0) || g.extent(-1) != n)
    f.fail<ShapeError>("an image " + to_string(v.shape()) + " and a grid " + to_string(g.shape()) +
                       " do not fit");
  if (o.mode != Interpolation::linear && o.mode != Interpolation::nearest && o.mode != Interpolation::cubic)
    f.fail<Error>("samples by Interpolation::linear, nearest or cubic");
  if (o.mode == Interpolation::cubic && n != 2)
    f.fail<ShapeError>("cubic takes an image of two spatial axes, not " + to_string(v.shape()));
  for (int i = 0; i < n; ++i)
    if (v.extent(2 + i) < 1 || v.extent(2 + i) > std::numeric_limits<int32_t>::max() / 4)
      f.fail<ShapeError>("an image of shape " + to_string(v.shape()));
  Composite whole(f.name, {&v.handle(), &g.handle()}, f.site);
  Shape one = g.shape();  // (N, 1, R...)
  one[1] = 1;
  for (int i = 0; i < n; ++i) one[2 + i] = g.extent(1 + i);
  const DType index = numel(v.shape()) <= std::numeric_limits<int32_t>::max() ? int32 : int64;
  std::vector<std::vector<Corner>> corners;
  for (int i = 0; i < n; ++i) {
    const int64_t extent = v.extent(2 + i);
    const Term given = unscaled(reshape(part(g, -1, n - 1 - i, 1), one), extent, o);
    if (o.mode == Interpolation::cubic) {
      corners.push_back(cubic(given, extent, o, index));
      continue;
    }
    const Term p = brought_inside(given, extent, o);
    if (o.mode == Interpolation::nearest) {
      corners.push_back({corner(round(p), {}, extent, index)});
    } else {
      const Term low = floor(p), t = p - low;
      corners.push_back({corner(low, 1.0 - t, extent, index), corner(low + 1.0, t, extent, index)});
    }
  }
  std::vector<Term> chosen;
  return f.finish(whole, around(v, corners, chosen, {}, {}));
}

Tensor affine_grid(Arg theta, ShapeArg size, bool align_corners) {
  const Formula f("affine_grid", {&theta});
  const Term maps = f.term(theta);
  const int n = size.size() - 2;
  check_extents(f.name, size, f.site);
  if ((n != 2 && n != 3) || maps.shape() != Shape{size[0], n, n + 1})
    f.fail<ShapeError>("maps " + to_string(maps.shape()) + " for an image of " + to_string(size));
  Shape result{size[0]}, column{size[0]};
  for (int i = 0; i < n; ++i) result.push_back(size[2 + i]), column.push_back(1);
  result.push_back(n), column.push_back(n);
  check_countable(f.name, result, f.site);
  Composite whole(f.name, {&maps.handle()}, f.site);
  const auto coefficient = [&](int64_t which) { return reshape(part(maps, 2, which, 1), column); };
  Term y = coefficient(n);
  for (int i = 0; i < n; ++i) {
    const int axis = n - i;  // of the result: coordinates have the last spatial axis first
    const double extent = static_cast<double>(result[axis]);
    Term at =
        f.term(f.Recorder::index(axis, along_axis(n + 2, axis, result[axis]), maps.handle())).as(f.work);
    if (!align_corners) at = (at * 2.0 + 1.0) / extent - 1.0;
    else at = extent > 1 ? at * 2.0 / (extent - 1) - 1.0 : at * 0.0;
    y = y + coefficient(i) * at;
  }
  return f.finish(whole, broadcast(y, result));
}

}  // namespace lazy
