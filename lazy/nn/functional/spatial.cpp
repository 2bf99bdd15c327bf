#include "lazy/nn/functional/spatial.hpp"

#include <algorithm>

namespace lazy::detail {

int64_t with_padding(const char* op, int64_t extent, int64_t padding, const Site& s) {
  return narrow(op, "a padded extent of", Wide(extent) + Wide(padding) * 2, s);
}

Dims per_axis(const char* op, const char* what, const Dims& given, int count, int64_t least, const Site& s) {
  if (given.size() != 1 && given.size() != count)
    fail<ShapeError>(
        op, std::string(what) + " " + to_string(given) + " for " + std::to_string(count) + " spatial axes",
        s);
  for (int64_t v : given)
    if (v < least)
      fail<ShapeError>(
          op, std::string(what) + " " + to_string(given) + " is less than " + std::to_string(least), s);
  return given.size() == 1 ? Dims(count, given[0]) : given;
}

Handle channels_to_last(const Handle& h, ChannelLayout layout, const Site& s) {
  if (layout == channels_last) return h;
  Dims axes{0};
  for (int i = 2; i < h->shape.size(); ++i) axes.push_back(i);
  axes.push_back(1);
  return permute(h, axes, s);
}

Handle channels_from_last(const Handle& h, ChannelLayout layout, const Site& s) {
  if (layout == channels_last) return h;
  Dims axes{0, h->shape.size() - 1};
  for (int i = 1; i < h->shape.size() - 1; ++i) axes.push_back(i);
  return permute(h, axes, s);
}

Windows::Windows(const char* op, const Shape& image, const Dims& l, const Dims& st, const Dims& padding,
                 const Dims& d, const Site& s, const Dims& extra)
    : length(l), stride(st), dilation(d) {
  for (int i = 0; i < l.size(); ++i) {
    const Wide span = span_of(l[i], d[i]);
    const int64_t extent = with_padding(op, image[i + 1], padding[i], s) + (extra.empty() ? 0 : extra[i]);
    if (span > extent)
      fail<ShapeError>(op,
                       "a window that spans " + to_string(span) + " does not fit spatial axis " +
                           std::to_string(i) + ", which has " + std::to_string(extent) +
                           (padding[i] ? " elements with its padding" : " elements: padding adds some"),
                       s);
    count.push_back((extent - static_cast<int64_t>(span)) / st[i] + 1);
    stride[i] = step_within(st[i], extent);
    dilation[i] = step_within(d[i], extent);
    taps = narrow(op, "the number of elements in a window,", Wide(taps) * l[i], s);
  }
  Shape all{image[0], image.back()};  // the shape of the view that is computed with, which is no copy
  for (int i = 0; i < l.size(); ++i) all.push_back(std::max<int64_t>(count[i], 1)), all.push_back(l[i]);
  check_countable(op, all, s);
}

Handle Windows::tap(const Handle& image, const Dims& position, const Site& s) const {
  Dims start(image->shape.size(), 0), step(image->shape.size(), 1);
  Shape shape = image->shape;
  for (int i = 0; i < spatial(); ++i) {
    start[i + 1] = position[i] * dilation[i];
    step[i + 1] = stride[i];
    shape[i + 1] = count[i];
  }
  return slice(image, start, step, shape, s);
}

bool Windows::next(Dims& position) const {
  for (int i = spatial() - 1; i >= 0; --i) {
    if (++position[i] < length[i]) return true;
    position[i] = 0;
  }
  return false;
}

Handle Windows::view(const Handle& image, const Site& s) const {
  Dims axes;
  Shape shape = image->shape;
  for (int i = 0; i < spatial(); ++i) {
    axes.push_back(i + 1);
    shape[i + 1] = count[i];
    shape.push_back(length[i]);
  }
  return window(image, axes, stride, dilation, shape, s);
}

Handle placed(const char* op, const Handle& image, const Dims& before, const Dims& step, const Dims& extents,
              const ScalarNumber& value, const Site& s) {
  Shape shape = image->shape;
  Dims start(shape.size(), 0), steps(shape.size(), 1);
  for (int i = 0; i < extents.size(); ++i) {
    shape[i + 1] = extents[i];
    start[i + 1] = before[i];
    steps[i + 1] = step[i];
  }
  check_countable(op, shape, s);
  const Handle base = constant(value, image->dtype, shape, image, s);
  if (numel(image->shape) == 0) return base;
  return slice_update(op, base, image, start, steps, s);
}

namespace {

// An image takes so much of its padded one at least that the padding is filled apart from it: strips are not
// side by side, and each is a kernel.
constexpr double kFilledApart = 0.75;

/// Places the image likewise, with a strip of `value` before and after it along each axis. Nothing is written
/// twice, as where all is filled first.
Handle placed_between_strips(const char* op, const Handle& image, const Dims& before, const Shape& shape,
                             const ScalarNumber& value, const Site& s) {
  const DType type = image->dtype;
  Dims start(shape.size(), 0);
  for (int i = 0; i < before.size(); ++i) start[i + 1] = before[i];
  // The image comes first, as what computes it can store it there.
  Handle r = put_piece(op, overwritten(type, shape, image->device, s), image, start, s);
  start = Dims(shape.size(), 0);
  Shape strip = shape;  // along the axes before, the part where the image is
  const auto fill = [&](int axis, int64_t from, int64_t count) {
    if (count == 0) return;
    start[axis] = from, strip[axis] = count;
    r = put_piece(op, r, constant(value, type, strip, image, s), start, s);
  };
  for (int i = 0; i < before.size(); ++i) {
    const int axis = i + 1;
    const int64_t end = before[i] + image->shape[axis];
    fill(axis, 0, before[i]);
    fill(axis, end, shape[axis] - end);
    start[axis] = before[i], strip[axis] = image->shape[axis];
  }
  return r;
}

}  // namespace

Handle padded(const char* op, const Handle& image, const Dims& padding, const ScalarNumber& value,
              const Site& s, bool anew, const Dims& extra) {
  const auto some = [](const Dims& n) {
    return std::any_of(n.begin(), n.end(), [](int64_t p) { return p != 0; });
  };
  const bool pads = some(padding) || some(extra);
  if (!pads && !anew) return image;
  Dims extents;
  for (int i = 0; i < padding.size(); ++i)
    extents.push_back(with_padding(op, image->shape[i + 1], padding[i], s) + (extra.empty() ? 0 : extra[i]));
  Shape shape = image->shape;
  for (int i = 0; i < extents.size(); ++i) shape[i + 1] = extents[i];
  check_countable(op, shape, s);
  const auto elements = static_cast<double>(numel(image->shape));
  if (pads && elements > 0 && elements >= kFilledApart * static_cast<double>(numel(shape)))
    return placed_between_strips(op, image, padding, shape, value, s);
  return placed(op, image, padding, Dims(padding.size(), 1), extents, value, s);
}

Handle multiplied(const char* name, const Handle& image, int axis, const Handle& matrix, const Site& s) {
  Dims axes;
  for (int i = 0; i < image->shape.size(); ++i)
    if (i != axis && i != image->shape.size() - 1) axes.push_back(i);
  axes.push_back(axis);
  axes.push_back(image->shape.size() - 1);
  const Handle y = matmul(name, matrix, permute(image, axes, s), s);
  Dims back(axes.size(), 0);
  for (int i = 0; i < axes.size(); ++i) back[static_cast<int>(axes[i])] = i;
  return permute(y, back, s);
}

}  // namespace lazy::detail
