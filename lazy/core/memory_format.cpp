#include "lazy/core/memory_format.hpp"

#include "jit/graph/layout.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/recipe.hpp"

namespace lazy::detail {

namespace {

Dims axes_of_last(int rank) {
  Dims axes{0};
  for (int i = 2; i < rank; ++i) axes.push_back(i);
  axes.push_back(1);
  return axes;
}

}  // namespace

bool moves_channels_last(const Dims& axes) { return axes.size() > 2 && axes == axes_of_last(axes.size()); }

Handle seen_last(const Handle& image, const Site& s) {
  return permute(image, axes_of_last(image->shape.size()), s);
}

Handle seen_first(const Handle& last, const Site& s) {
  const int rank = last->shape.size();
  Dims axes{0, rank - 1};
  for (int i = 1; i + 1 < rank; ++i) axes.push_back(i);
  Handle image = permute(last, axes, s);
  if (!jit::is_source(image->op)) image->channels_last = true;  // a constant lies nowhere
  return image;
}

bool carries_format(std::initializer_list<const Handle*> operands, const Shape& shape) {
  for (const Handle* o : operands)
    if ((*o)->channels_last && (*o)->shape == shape) return true;
  return false;
}

Handle broadcast_last(const Handle& operand, int rank, const Site& s) {
  const int missing = rank - operand->shape.size();
  if (missing == rank) return operand;
  if (missing == 0) return seen_last(operand, s);
  Shape shape(rank, 1);
  for (int i = missing; i < rank; ++i) shape[i] = operand->shape[i - missing];
  return seen_last(reshape(operand, shape, s), s);
}

}  // namespace lazy::detail

namespace lazy {
namespace {

void check_image(const char* name, const Shape& shape, ChannelLayout format, const Site& s) {
  if (format == channels_last && (shape.size() < 3 || shape.size() > 5))
    detail::fail<ShapeError>(
        name, "channels_last is for images (N, C, spatial...) of 3 to 5 axes, not " + to_string(shape), s);
}

/// True if the elements of a value lie, or are known to lie once it is computed, one after the other in the
/// format's order.
bool lies_packed(const jit::Node& n, ChannelLayout format) {
  const int rank = n.shape.size();
  const auto last = [rank](const jit::Layout& l) {
    jit::Layout r = l;
    for (int i = 0; i < rank; ++i) {
      const int to = detail::axis_last(i, rank);
      r.shape[to] = l.shape[i], r.strides[to] = l.strides[i];
    }
    return r;
  };
  const auto in_order = [&](const jit::Layout& l) {
    return (format == channels_last ? last(l) : l).is_contiguous();
  };
  if (n.ready()) return in_order(jit::layout_of(n));
  // By what was recorded: a view of another view may have gaps.
  if (n.channels_last && n.op == jit::Op::permute) {
    jit::Layout l{n.shape, Dims(rank, 0)};
    int64_t step = 1;
    const auto next = [&](int axis) {
      if (l.shape[axis] != 1) l.strides[axis] = step;
      step *= l.shape[axis];
    };
    next(1);
    for (int i = rank - 1; i > 1; --i) next(i);
    next(0);
    return in_order(l);
  }
  const bool packed = jit::kind_of(n.op) != jit::OpKind::view || n.op == jit::Op::reshape;
  return packed && in_order(jit::Layout::contiguous(n.shape));
}

}  // namespace

Tensor Tensor::to_memory_format(ChannelLayout format, Site s) const {
  constexpr const char* name = "to_memory_format";
  check_image(name, node(name, s).shape, format, s);
  jit::Handle keep;
  const jit::Handle& h = detail::value_of(handle_, keep, s);
  if (h->channels_last == (format == channels_last) || jit::is_source(h->op)) return Tensor(h);
  const auto copied = [&](const jit::Handle& from) {  // a cast to its own dtype: its result is packed
    return detail::record(jit::Op::cast, {&from}, from->dtype, from->shape, s);
  };
  if (format == channels_first) return Tensor(copied(h));
  return Tensor(detail::seen_first(copied(detail::seen_last(h, s)), s));
}

bool Tensor::is_contiguous(ChannelLayout format, Site s) const {
  const jit::Node& n = node("is_contiguous", s);
  check_image("is_contiguous", n.shape, format, s);
  return lies_packed(n, format);
}

}  // namespace lazy
