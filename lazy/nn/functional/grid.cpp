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

/// Returns positions in an axis of `extent` elements for coordinates of which -1 to 1 are the axis.
Term unscaled(const Term& given, int64_t extent, const GridOptions& o) {
  const double n = static_cast<double>(extent);
  const Term g = where(given == given, given, -1.0);
  Term p = o.align_corners ? (g + 1.0) / 2.0 * (n - 1) : ((g + 1.0) * n - 1.0) / 2.0;
  if (o.padding == GridPadding::reflection)
    p = o.align_corners ? mirrored(p, 0, 2 * (n - 1)) : mirrored(p, -1, 2 * n - 1);
  if (o.padding != GridPadding::zeros) p = minimum(maximum(p, 0.0), n - 1);
  // A position that no integer can say is outside.
  constexpr double most = 1 << 30;
  return where(abs(p) < most, p, -100.0);
}

/// Holds the positions of a corner along an axis, inside of it, which of them were, and their weight.
struct Corner {
  Term position, inside, weight;
};

Corner corner(const Term& p, const Term& weight, int64_t extent, DType index) {
  const double last = static_cast<double>(extent - 1);
  return {minimum(maximum(p, 0.0), last).as(index), (p >= 0.0) & (p <= last), weight};
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
  if (o.mode != Interpolation::linear && o.mode != Interpolation::nearest)
    f.fail<Error>("samples by Interpolation::linear or nearest");
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
    const Term p = unscaled(reshape(part(g, -1, n - 1 - i, 1), one), extent, o);
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

}  // namespace lazy
