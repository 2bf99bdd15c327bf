#include "lazy/core/build.hpp"

#include <algorithm>
#include <optional>

#include "jit/backend/registry.hpp"
#include "jit/graph/layout.hpp"
#include "lazy/core/fold.hpp"
#include "lazy/core/memory_format.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/core/scalar.hpp"

namespace lazy::detail {
namespace {

bool is_constant(const Handle& h) { return h->op == Op::constant; }

/// Records a view. A view of a constant is a constant on the same device.
Handle view(Op op, const Handle& h, const Shape& shape, const Site& s, const jit::Attributes& attributes) {
  if (is_constant(h)) return folded(op, {&h}, h->scalar, h->dtype, shape, h->device, s, attributes);
  return detail::record(op, {&h}, h->dtype, shape, s, attributes);
}

}  // namespace

void throw_empty(const char* op, const Site& s) {
  fail<Error>(op, "the tensor is empty (default-constructed): assign to it first", s);
}

Handle Operand::missing(const char* op, const Arg& a) {
  if (a.is_tensor()) throw_empty(op, a.site());
  return constant(a.number(), a.number().literal_dtype(), {}, a.site());
}

Handle Operand::missing(const char* op, const Arg& a, DType t) {
  if (a.is_tensor()) throw_empty(op, a.site());
  if (!is_float(t)) check_fits(op, a, t);
  return constant(a.number(), t, {}, a.site());
}

Handle Operand::converted(Arg& a, DType t) { return cast(a.take(), t, a.site()); }
Handle Operand::converted(const Arg& a, DType t) { return cast(a.handle(), t, a.site()); }

Shape shape_of(const char* op, const Arg& a) {
  if (a.is_tensor() && !a.handle()) throw_empty(op, a.site());
  return a.handle() ? a.handle()->shape : Shape();
}

void check_extents(const char* op, const Shape& shape, const Site& s) {
  for (const int64_t n : shape)
    if (n < 0) fail<ShapeError>(op, "an extent can't be negative: " + to_string(shape), s);
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b, const Site& s) {
  if (b.empty() || a == b) return a;
  if (a.empty()) return b;
  Shape r(std::max(a.size(), b.size()), 1);
  for (int i = 1; i <= r.size(); ++i) {
    const int64_t x = i <= a.size() ? a[a.size() - i] : 1, y = i <= b.size() ? b[b.size() - i] : 1;
    if (x != y && x != 1 && y != 1)
      fail<ShapeError>(op, "shapes " + to_string(a) + " and " + to_string(b) + " do not broadcast", s);
    r[r.size() - i] = x == 1 ? y : x;
  }
  if (r != a && r != b) check_countable(op, r, s);
  return r;
}

void check_devices(const char* op, std::initializer_list<const Handle*> operands, const Site& s) {
  const Device first = (*operands.begin())->get()->device;
  bool same = true;
  for (const Handle* o : operands) same = same && (*o)->device == first;
  if (same) return;
  const Handle* value = nullptr;
  for (const Handle* o : operands) {
    if (jit::is_source((*o)->op)) continue;
    if (value && (*value)->device != (*o)->device)
      fail<DeviceError>(op,
                        "operands are on " + to_string((*value)->device) + " and " + to_string((*o)->device) +
                            "; move one with to()",
                        s);
    value = o;
  }
}

namespace {

/// Makes a tensor of a real number in a complex dtype.
Handle real_constant(const ScalarNumber& n, DType t, const Shape& shape, Device device, const Site& s) {
  const DType plane = plane_type(t);
  return complex(detail::constant(to_scalar(n, plane), plane, shape, device, s),
                 no_imaginary_part(plane, shape, device, s), s);
}

}  // namespace

Handle constant(const ScalarNumber& n, DType t, const Shape& shape, const Site& s) {
  if (is_complex(t)) return real_constant(n, t, shape, jit::default_device(s), s);
  return detail::constant(to_scalar(n, t), t, shape, jit::default_device(s), s);
}

Handle constant(const ScalarNumber& n, DType t, const Shape& shape, const Handle& like, const Site& s) {
  if (is_complex(t)) return real_constant(n, t, shape, like->device, s);
  return detail::constant(to_scalar(n, t), t, shape, like->device, s);
}

Handle values(const void* bytes, DType t, const Shape& shape, const Handle& like, const Site& s) {
  if (is_complex(t)) {
    const auto count = static_cast<size_t>(numel(shape));
    const DType plane = plane_type(t);
    std::vector<char> re(count * size_of(plane)), im(count * size_of(plane));
    deinterleave(plane, bytes, re.data(), im.data(), count);
    return complex(values(re.data(), plane, shape, like, s), values(im.data(), plane, shape, like, s), s);
  }
  return jit::from_bytes(bytes, t, shape, like->device, s);
}

Handle slice_update(const char* name, const Handle& base, const Handle& update, const Dims& start,
                    const Dims& step, const Site& s) {
  check_devices(name, {&base, &update}, s);
  return detail::record(Op::slice_update, {&base, &update}, base->dtype, base->shape, s,
                        jit::Attributes::slice_update(start, step));
}

Handle put_piece(const char* name, const Handle& base, const Handle& piece, const Dims& start,
                 const Site& s) {
  check_devices(name, {&base, &piece}, s);
  return detail::record(Op::slice_update, {&base, &piece}, base->dtype, base->shape, s,
                        jit::Attributes::piece(start));
}

Handle cast(const Handle& h, DType t, const Site& s) {
  if (h->dtype == t) return h;
  if (is_constant(h) && !is_complex(t))
    return folded(Op::cast, {&h}, convert(h->scalar, h->dtype, t), t, h->shape, h->device, s);
  if (h->channels_last) [[unlikely]]
    return seen_first(cast(seen_last(h, s), t, s), s);
  return detail::record(Op::cast, {&h}, t, h->shape, s);
}

Handle unary(Op op, const Handle& h, const Site& s, unsigned given, const char* name) {
  const DType t = jit::row_of(op).rule == jit::DTypeRule::logical ? bool_ : h->dtype;
  jit::Scalar value;
  if (is_constant(h) && fold(op, h->dtype, h->scalar, value))
    return folded(op, {&h}, value, t, h->shape, h->device, s);
  if (h->channels_last) [[unlikely]]
    return seen_first(unary(op, seen_last(h, s), s), s);
  return detail::record(op, {&h}, t, h->shape, s, {}, given, name);
}

namespace {

/// Records a pointwise op of operands in channels-last memory, which have been checked.
template <class F>
[[gnu::noinline]] Handle in_channels_last(int rank, const Handle& a, const Handle& b, const Site& s,
                                          F&& record) {
  return seen_first(record(broadcast_last(a, rank, s), broadcast_last(b, rank, s)), s);
}

/// Computes an op of two constants; returns none if the op is not folded.
[[gnu::noinline]] std::optional<Handle> fold_two(Op op, const Handle& a, const Handle& b, DType t,
                                                 const Shape& shape, const Site& s) {
  jit::Scalar value;
  if (!fold(op, a->dtype, a->scalar, b->scalar, value)) return {};
  // The result is on the device to which an operand was moved, if one was: a literal is on the default
  // device.
  const Device device = a->device == b->device || a->device != jit::default_device(s) ? a->device : b->device;
  return folded(op, {&a, &b}, value, t, shape, device, s);
}

}  // namespace

Handle binary(const char* name, Op op, const Handle& a, const Handle& b, const Site& s, unsigned given) {
  if (is_complex(b->dtype) && !is_complex(a->dtype)) [[unlikely]]
    return binary(name, op, cast(a, b->dtype, s), b, s);
  const DType t = jit::row_of(op).rule == jit::DTypeRule::logical ? bool_ : a->dtype;
  if (a->channels_last | b->channels_last) [[unlikely]] {
    const Shape shape = broadcast_shapes(name, a->shape, b->shape, s);
    check_devices(name, {&a, &b}, s);
    if (carries_format({&a, &b}, shape))
      return in_channels_last(shape.size(), a, b, s,
                              [&](const Handle& x, const Handle& y) { return binary(name, op, x, y, s); });
  }
  if (a->shape == b->shape && a->device == b->device && !is_constant(a)) [[likely]]
    return detail::record(op, {&a, &b}, t, a->shape, s, {}, given, name);
  const Shape shape = broadcast_shapes(name, a->shape, b->shape, s);
  if (a->device != b->device) check_devices(name, {&a, &b}, s);
  if (is_constant(a) && is_constant(b))
    if (const auto constant = fold_two(op, a, b, t, shape, s)) return *constant;
  return detail::record(op, {&a, &b}, t, shape, s, {}, given, name);
}

Handle where(const char* name, const Handle& condition, const Handle& a, const Handle& b, const Site& s) {
  if (is_complex(b->dtype) && !is_complex(a->dtype)) [[unlikely]]
    return where(name, condition, cast(a, b->dtype, s), b, s);
  const Shape shape =
      broadcast_shapes(name, condition->shape, broadcast_shapes(name, a->shape, b->shape, s), s);
  check_devices(name, {&condition, &a, &b}, s);
  if ((condition->channels_last | a->channels_last | b->channels_last) &&
      carries_format({&condition, &a, &b}, shape)) [[unlikely]]
    return in_channels_last(shape.size(), a, b, s, [&](const Handle& x, const Handle& y) {
      return where(name, broadcast_last(condition, shape.size(), s), x, y, s);
    });
  return detail::record(Op::where, {&condition, &a, &b}, a->dtype, shape, s);
}

Handle fma(const char* name, const Handle& a, const Handle& b, const Handle& c, const Site& s) {
  if ((is_complex(b->dtype) || is_complex(c->dtype)) && !is_complex(a->dtype)) [[unlikely]]
    return fma(name, cast(a, is_complex(b->dtype) ? b->dtype : c->dtype, s), b, c, s);
  const Shape shape = broadcast_shapes(name, broadcast_shapes(name, a->shape, b->shape, s), c->shape, s);
  check_devices(name, {&a, &b, &c}, s);
  if ((a->channels_last | b->channels_last | c->channels_last) && carries_format({&a, &b, &c}, shape))
      [[unlikely]]
    return in_channels_last(shape.size(), a, b, s, [&](const Handle& x, const Handle& y) {
      return fma(name, x, y, broadcast_last(c, shape.size(), s), s);
    });
  return detail::record(Op::fma, {&a, &b, &c}, a->dtype, shape, s, {}, 0, name);
}

Handle reshape(const Handle& h, const Shape& shape, const Site& s, int leading_kept) {
  if (h->shape == shape) return h;
  return view(Op::reshape, h, shape, s, jit::Attributes::reshape(shape, leading_kept));
}

Handle permute(const Handle& h, const Dims& axes, const Site& s) {
  bool same = true;
  Shape shape(axes.size(), 0);
  for (int i = 0; i < axes.size(); ++i) {
    shape[i] = h->shape[static_cast<int>(axes[i])];
    same = same && axes[i] == i;
  }
  if (same) return h;
  return view(Op::permute, h, shape, s, {.ints = {}, .steps = {}, .axes = axes});
}

Handle alias_of(const Handle& h, const Site& s) {
  jit::Attributes unmoved;
  for (int axis = 0; axis < h->shape.size(); ++axis) unmoved.axes.push_back(axis);
  Handle alias = detail::record(Op::permute, {&h}, h->dtype, h->shape, s, std::move(unmoved));
  alias->channels_last = h->channels_last;
  alias->of_frozen = false;  // a copy, or what was thawed
  return alias;
}

Handle matrix_transpose(const Handle& h, const Site& s) {
  const int rank = h->shape.size();
  Dims axes;
  for (int i = 0; i < rank - 2; ++i) axes.push_back(i);
  axes.push_back(rank - 1);
  axes.push_back(rank - 2);
  return permute(h, axes, s);
}

Handle broadcast(const Handle& h, const Shape& shape, const Site& s) {
  if (h->shape == shape) return h;
  return view(Op::broadcast, h, shape, s, {.ints = shape, .steps = {}, .axes = {}});
}

Handle slice(const Handle& h, const Dims& start, const Dims& step, const Shape& shape, const Site& s) {
  bool same = shape == h->shape;
  for (int i = 0; i < start.size(); ++i) same = same && start[i] == 0 && (step[i] == 1 || shape[i] <= 1);
  if (same) return h;
  Handle part = view(Op::slice, h, shape, s, {.ints = start, .steps = step, .axes = {}});
  part->channels_last = h->channels_last;
  return part;
}

Handle window(const Handle& h, const Dims& axes, const Dims& step, const Dims& dilation, const Shape& shape,
              const Site& s) {
  if (axes.empty()) return h;
  return view(Op::window, h, shape, s, {.ints = step, .steps = dilation, .axes = axes});
}

int normal_axis(const char* op, int64_t axis, int rank, const Site& s) {
  if (axis < -rank || axis >= rank)
    fail<IndexError>(
        op, "axis " + std::to_string(axis) + " is out of range for " + std::to_string(rank) + " dimensions",
        s);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Dims normal_axes(const char* op, const Dims& axes, int rank, const Site& s) {
  Dims r;
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) r.push_back(i);
    return r;
  }
  for (int64_t a : axes) {
    const int i = normal_axis(op, a, rank, s);
    if (std::find(r.begin(), r.end(), i) != r.end())
      fail<IndexError>(op, "axis " + std::to_string(a) + " is named twice", s);
    r.push_back(i);
  }
  std::sort(r.begin(), r.end());
  return r;
}

}  // namespace lazy::detail
