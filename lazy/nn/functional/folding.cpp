#include "lazy/nn/functional/folding.hpp"

#include "lazy/indexing/gathering.hpp"
#include "lazy/nn/functional/planes.hpp"

namespace lazy {
namespace {
using namespace detail;

void check_channels(const Formula& f, const Shape& shape, int64_t taps, int64_t windows) {
  if (shape.size() != 3 || taps == 0 || shape[1] % taps != 0 || shape[2] != windows)
    f.fail<ShapeError>("takes columns (N, C " + std::to_string(taps) + ", " + std::to_string(windows) +
                       "), not " + to_string(shape));
}

}  // namespace

Tensor unfold(Arg x, Axes window, const FoldOptions& o) {
  const Formula f("unfold", x.site());
  const Term v = f.term(Operand(f.name, x).take());
  const Plane p(f, v.shape(), window, o.stride, o.padding, o.dilation);
  Composite whole(f.name, {&v.handle()}, f.site);
  const Shape& s = v.shape();
  const int n = p.windows.spatial();
  const Handle last = channels_to_last(v.handle(), channels_first, f.site);
  const Handle view = p.windows.view(detail::padded(f.name, last, p.padding, 0, f.site), f.site);
  // (N, count..., C, length...) -> (N, C, length..., count...)
  Dims order{0, n + 1};
  for (int i = 0; i < n; ++i) order.push_back(n + 2 + i);
  for (int i = 0; i < n; ++i) order.push_back(1 + i);
  const int64_t rows = narrow(f.name, "an extent of", Wide(s[1]) * p.windows.taps, f.site);
  const Shape result{s[0], rows, p.count()};
  check_countable(f.name, result, f.site);
  return Tensor(whole.result(f.reshape(f.permute(view, order), result)));
}

Tensor fold(Arg x, Axes extents, Axes window, const FoldOptions& o) {
  const Formula f("fold", x.site());
  const Term given = f.term(Operand(f.name, x).take());
  const DType t = given.handle()->dtype, work = is_half(t) ? float32 : t;
  if (is_bool(t)) f.fail<DtypeError>("takes numbers, not bool: convert with astype");
  const int n = std::max(extents.size(), window.size());
  if (n < 1 || n > 3) f.fail<ShapeError>("takes one to three spatial extents, not " + to_string(extents));
  if (given.rank() != 3) f.fail<ShapeError>("takes columns of 3 axes, not " + to_string(given.shape()));
  Shape image{given.extent(0), 1};
  for (const int64_t e : per_axis(f.name, "extents", extents, n, 1, f.site)) image.push_back(e);
  const Plane p(f, image, window, o.stride, o.padding, o.dilation);
  check_channels(f, given.shape(), p.windows.taps, p.count());
  Composite whole(f.name, {&given.handle()}, f.site);
  image[1] = given.extent(1) / p.windows.taps;
  const Term columns = reshape(given.as(work), {image[0], image[1], p.windows.taps * p.count()});
  const Handle sum = p.added(columns.handle(), p.every_position(given.handle()), image);
  return Tensor(whole.result(f.as(t, sum)));
}

}  // namespace lazy
