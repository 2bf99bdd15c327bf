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

/// Returns the shape with a batch of one before it.
Shape with_batch(const Shape& one) {
  Shape r{1};
  for (const int64_t n : one) r.push_back(n);
  return r;
}

}  // namespace

Tensor unfold(Arg x, Axes window, const FoldOptions& o) {
  const Formula f("unfold", x.site());
  const Term given = f.term(Operand(f.name, x).take());
  const bool single = given.rank() == 3;
  const Term v = single ? reshape(given, with_batch(given.shape())) : given;
  const Plane p(f, v.shape(), window, o.stride, o.padding, o.dilation);
  Composite whole(f.name, {&given.handle()}, f.site);
  const Shape& s = v.shape();
  const int n = p.windows.spatial();
  const Handle last = channels_to_last(v.handle(), channels_first, f.site);
  const Handle view = p.windows.view(detail::padded(f.name, last, p.padding, 0, f.site), f.site);
  // (N, count..., C, length...) -> (N, C, length..., count...)
  Dims order{0, n + 1};
  for (int i = 0; i < n; ++i) order.push_back(n + 2 + i);
  for (int i = 0; i < n; ++i) order.push_back(1 + i);
  const int64_t rows = narrow(f.name, "an extent of", Wide(s[1]) * p.windows.taps, f.site);
  const Shape result = single ? Shape{rows, p.count()} : Shape{s[0], rows, p.count()};
  check_countable(f.name, result, f.site);
  return Tensor(whole.result(f.reshape(f.permute(view, order), result)));
}

Tensor fold(Arg x, Axes extents, Axes window, const FoldOptions& o) {
  const Formula f("fold", x.site());
  const Term given = f.term(Operand(f.name, x).take());
  const DType t = given.handle()->dtype, work = is_half(t) ? float32 : t;
  if (is_bool(t)) f.fail<DtypeError>("takes numbers, not bool: convert with astype");
  const int n = std::max({2, extents.size(), window.size()});
  if (n > 3) f.fail<ShapeError>("takes two or three spatial extents, not " + to_string(extents));
  const bool single = given.rank() == 2;
  if (given.rank() != 3 && !single)
    f.fail<ShapeError>("takes columns of 2 or 3 axes, not " + to_string(given.shape()));
  const Shape columns_shape = single ? with_batch(given.shape()) : given.shape();
  Shape image{columns_shape[0], 1};
  for (const int64_t e : per_axis(f.name, "extents", extents, n, 1, f.site)) image.push_back(e);
  const Plane p(f, image, window, o.stride, o.padding, o.dilation);
  check_channels(f, columns_shape, p.windows.taps, p.count());
  Composite whole(f.name, {&given.handle()}, f.site);
  image[1] = columns_shape[1] / p.windows.taps;
  const Term columns = reshape(given.as(work), {image[0], image[1], p.windows.taps * p.count()});
  const Handle sum = p.added(columns.handle(), p.every_position(given.handle()), image);
  const Handle images = f.as(t, sum);
  Shape result;
  for (int i = single; i < image.size(); ++i) result.push_back(image[i]);
  return Tensor(whole.result(f.reshape(images, result)));
}

}  // namespace lazy
