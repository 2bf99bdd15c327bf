#include "lazy/nn/functional/planes.hpp"

#include "lazy/indexing/gathering.hpp"

namespace lazy::detail {
namespace {

Shape channels_last_shape(const Shape& image) {
  Shape r{image[0]};
  for (int i = 2; i < image.size(); ++i) r.push_back(image[i]);
  r.push_back(image[1]);
  return r;
}

const Shape& checked(const Formula& f, const Shape& image) {
  if (image.size() < 3 || image.size() > 5)
    f.fail<ShapeError>("takes an image of 3 to 5 axes, not " + to_string(image));
  return image;
}

Dims each(const Formula& f, const char* what, const Dims& given, const Shape& image, int64_t least) {
  return per_axis(f.name, what, given, image.size() - 2, least, f.site);
}

Dims plane_of(const Shape& image) {
  Dims r;
  for (int i = 2; i < image.size(); ++i) r.push_back(image[i]);
  return r;
}

}  // namespace

Plane::Plane(const Formula& formula, const Shape& image, const Dims& window, const Dims& stride,
             const Dims& pads, const Dims& dilation, const Dims& extra)
    : f(formula),
      extents(plane_of(checked(formula, image))),
      padding(each(formula, "padding", pads, image, 0)),
      windows(formula.name, channels_last_shape(image), each(formula, "window", window, image, 1),
              each(formula, "stride", stride, image, 1), padding,
              each(formula, "dilation", dilation, image, 1), formula.site, extra) {}

Handle Plane::positions(const Handle& tap, const Shape& shape, int first, bool inside) const {
  const int n = windows.spatial();
  std::vector<Handle> start, at;
  Handle outside, rest = tap;
  for (int i = n - 1; i >= 0; --i) {
    const Handle index = f.op(Op::multiply, f.Recorder::index(first + i, shape, tap), windows.stride[i]);
    start.insert(start.begin(), f.op(Op::subtract, index, padding[i]));
    const Handle within = f.op(Op::remainder, rest, windows.length[i]);
    rest = f.op(Op::floor_divide, rest, windows.length[i]);
    at.insert(at.begin(), f.op(Op::add, start[0], f.op(Op::multiply, within, windows.dilation[i])));
    const Handle out = f.either(f.op(Op::less, at[0], 0), f.op(Op::greater_equal, at[0], extents[i]));
    outside = outside ? f.either(outside, out) : out;
  }
  Handle flat;
  for (int i = 0; i < n; ++i) {
    if (inside) {  // the first multiple of the dilation that reaches the plane
      const int64_t d = windows.dilation[i];
      const Handle missing = f.op(Op::maximum, f.op(Op::negative, start[static_cast<size_t>(i)]), 0);
      const Handle steps = f.op(Op::multiply, f.op(Op::floor_divide, f.op(Op::add, missing, d - 1), d), d);
      at[static_cast<size_t>(i)] =
          f.where(outside, f.op(Op::add, start[static_cast<size_t>(i)], steps), at[static_cast<size_t>(i)]);
    }
    flat = flat ? f.op(Op::add, f.op(Op::multiply, flat, extents[i]), at[static_cast<size_t>(i)]) : at[0];
  }
  return inside ? flat : f.where(outside, -1, flat);
}

Handle Plane::every_position(const Handle& like) const {
  Shape shape{windows.taps};
  for (const int64_t c : windows.count) shape.push_back(c);
  const Handle at = positions(f.Recorder::index(0, shape, like), shape, 1, false);
  return f.reshape(at, {1, 1, numel(shape)});
}

Handle Plane::added(const Handle& values, const Handle& at, const Shape& image) const {
  return put_in_planes(f, values, f.where(f.op(Op::less, at, 0), elements(), at), image, Combine::add,
                       Bounds::mask);
}

Handle put_in_planes(const Formula& f, const Handle& values, const Handle& positions, const Shape& image,
                     Combine combine, Bounds bounds) {
  check_countable(f.name, image, f.site);
  const Shape flat{image[0], image[1], numel(Shape(plane_of(image)))};
  const Handle zeros = f.filled(0, values->dtype, flat, values);
  if (numel(flat) == 0 || numel(values->shape) == 0) return f.reshape(zeros, image);
  const Tensor sum = put_along_axis(f.arg(zeros), f.arg(positions), f.arg(values), 2, combine, bounds);
  return f.reshape(sum.handle(), image);
}

}  // namespace lazy::detail
