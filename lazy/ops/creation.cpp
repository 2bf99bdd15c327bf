#include "lazy/ops/creation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "jit/backend/registry.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/core/scalar.hpp"
#include "lazy/ops/views.hpp"

namespace lazy {
namespace {
using namespace detail;

const Shape& checked(const char* op, const Shape& shape, const Site& s) {
  check_extents(op, shape, s);
  return shape;
}

/// Moves a source, or a value, to the user's device.
Handle placed(const Handle& h, const MaybeDevice& device, const Site& s) {
  return device.given ? detail::transfer(h, device.value, s) : h;
}

/// Returns int64 for an integer, whatever its C++ type; the dtype of any other literal.
DType natural_dtype(const ScalarNumber& n) {
  switch (n.kind) {
    case ScalarNumber::Kind::boolean: return bool_;
    case ScalarNumber::Kind::complex:
    case ScalarNumber::Kind::real: return n.literal_dtype();
    case ScalarNumber::Kind::natural: return uint64;
    case ScalarNumber::Kind::integer: break;
  }
  return int64;
}

Tensor filled(const char* op, const Shape& shape, const ScalarNumber& v, DType t, MaybeDevice device,
              const Site& s) {
  if (!number_fits(v, t)) fail<DtypeError>(op, "the value " + text(v) + " does not fit " + name_of(t), s);
  if (numel(checked(op, shape, s)) != 0 || std::find(shape.begin(), shape.end(), 0) == shape.end())
    check_countable(op, shape, s);
  return Tensor(placed(constant(v, t, shape, s), device, s));
}

Tensor filled_like(const char* op, Arg& x, const ScalarNumber& v, MaybeDType t, MaybeDevice device) {
  const Operand h(op, x);
  return filled(op, h->shape, v, t.or_else(h->dtype), device.given ? device : h->device, x.site());
}
}  // namespace

Tensor zeros(ShapeArg shape, MaybeDType t, MaybeDevice d, Site s) {
  return filled("zeros", shape, 0, t.or_else(get_default_dtype()), d, s);
}
Tensor ones(ShapeArg shape, MaybeDType t, MaybeDevice d, Site s) {
  return filled("ones", shape, 1, t.or_else(get_default_dtype()), d, s);
}
Tensor empty(ShapeArg shape, MaybeDType t, MaybeDevice d, Site s) {
  return filled("empty", shape, 0, t.or_else(get_default_dtype()), d, s);
}
Tensor full(ShapeArg shape, ScalarNumber v, MaybeDType t, MaybeDevice d, Site s) {
  return filled("full", shape, v, t.or_else(natural_dtype(v)), d, s);
}
Tensor detail::full_of_complex(const Shape& shape, std::complex<double> v, DType t, MaybeDevice d,
                               const Site& s) {
  if (!is_complex(t)) fail<DtypeError>("full", "the value does not fit " + std::string(name_of(t)), s);
  const Tensor zero = filled("full", shape, 0, plane_type(t), d, s);
  const auto part = [&](double x) { return constant(x, plane_type(t), shape, zero.handle(), s); };
  return Tensor(complex(part(v.real()), part(v.imag()), s));
}
Tensor zeros_like(Arg x, MaybeDType t, MaybeDevice d) { return filled_like("zeros_like", x, 0, t, d); }
Tensor ones_like(Arg x, MaybeDType t, MaybeDevice d) { return filled_like("ones_like", x, 1, t, d); }
Tensor empty_like(Arg x, MaybeDType t, MaybeDevice d) { return filled_like("empty_like", x, 0, t, d); }
Tensor full_like(Arg x, ScalarNumber v, MaybeDType t, MaybeDevice d) {
  return filled_like("full_like", x, v, t, d);
}

namespace {
/// Records column - row compared with k, as a matrix.
Handle diagonal(const char* name, Op compare, int64_t rows, int64_t columns, int64_t k, Device device,
                const Site& s) {
  k = std::clamp(k, -rows, columns);  // all diagonals beyond are the same empty one
  const Handle row = binary(name, Op::add, iota(0, {rows, 1}, device, s), constant(k, int64, {}, s), s);
  return binary(name, compare, iota(1, {1, columns}, device, s), row, s);
}

Tensor triangle(const char* name, Op compare, Arg& x, IntegerArg k) {
  const Operand h(name, x);
  const int rank = h->shape.size();
  if (rank < 2) fail<ShapeError>(name, "needs two dimensions, not " + to_string(h->shape), x.site());
  const Handle kept = diagonal(name, compare, h->shape[rank - 2], h->shape[rank - 1], k, h->device, x.site());
  return Tensor(detail::where(name, kept, h, constant(0, h->dtype, {}, x.site()), x.site()));
}
}  // namespace

Tensor eye(IntegerArg rows, IntegerArg columns, IntegerArg k, MaybeDType t, MaybeDevice device, Site s) {
  if (rows < 0) fail<ShapeError>("eye", "the number of rows can't be negative: " + std::to_string(rows), s);
  const Shape shape{rows, columns < 0 ? rows : columns};
  if (rows.above || columns.above)
    fail<ShapeError>("eye", "an extent is above " + std::to_string(INT64_MAX), s);
  check_countable("eye", shape, s);
  const Device where = device.given ? device.value : jit::default_device(s);
  return Tensor(
      cast(diagonal("eye", Op::equal, shape[0], shape[1], k, where, s), t.or_else(get_default_dtype()), s));
}
Tensor tril(Arg x, IntegerArg k) { return triangle("tril", Op::less_equal, x, k); }
Tensor triu(Arg x, IntegerArg k) { return triangle("triu", Op::greater_equal, x, k); }

namespace {
std::vector<Tensor> grids(std::span<const Arg> axes, const std::string& indexing, const Site& s) {
  std::vector<Tensor> r;
  if (indexing != "xy" && indexing != "ij")
    fail<Error>("meshgrid", "indexing is \"xy\" or \"ij\", not \"" + indexing + "\"", s);
  if (axes.size() > kMaxRank)
    fail<ShapeError>("meshgrid", "more than " + std::to_string(kMaxRank) + " axes", s);
  Shape shape;
  for (const Arg& a : axes) {
    const Operand h("meshgrid", a);
    if (h->shape.size() > 1)
      fail<ShapeError>("meshgrid", "takes tensors of one dimension, not " + to_string(h->shape), a.site());
    shape.push_back(numel(h->shape));
  }
  const auto place = [&](int i) { return indexing == "xy" && i < 2 && shape.size() > 1 ? 1 - i : i; };
  Shape result = shape;
  for (int i = 0; i < shape.size(); ++i) result[place(i)] = shape[i];
  check_countable("meshgrid", result, s);
  int i = 0;
  for (const Arg& a : axes) {
    Shape flat(shape.size(), 1);
    flat[place(i)] = shape[i];
    ++i;
    r.emplace_back(
        detail::broadcast(detail::reshape(Operand("meshgrid", a), flat, a.site()), result, a.site()));
  }
  return r;
}
}  // namespace

std::vector<Tensor> meshgrid(std::initializer_list<Arg> axes, const std::string& indexing) {
  if (axes.size() == 0) return {};
  return grids(std::span(axes.begin(), axes.size()), indexing, axes.begin()->site());
}
std::vector<Tensor> meshgrid(const std::vector<Tensor>& axes, const std::string& indexing, Site s) {
  std::vector<Arg> args;
  for (const Tensor& axis : axes) args.emplace_back(axis, s);
  return grids(args, indexing, s);
}

namespace {

/// Shares the user's pairs: each plane lies in every other number.
Tensor complex_from_blob(void* data, const Shape& shape, DType t, Dims strides,
                         std::function<void(void*)> deleter, const MaybeDevice& device, const Site& s) {
  if (strides.empty()) strides = contiguous_strides(shape);
  for (int64_t& step : strides) step *= 2;
  const DType plane = plane_type(t);
  const Device where = device.given ? device.value : jit::default_device(s);
  // The memory is given back when neither plane needs it.
  const std::shared_ptr<void> whole(data, [deleter](void* p) {
    if (deleter) deleter(p);
  });
  const auto part = [&](size_t offset) {
    return jit::from_blob(
        static_cast<char*>(data) + offset, plane, shape, strides, [whole](void*) {}, where, s);
  };
  return Tensor(complex(part(0), part(size_of(plane)), s));
}

}  // namespace

Tensor from_blob(void* data, ShapeArg shape, DType t, std::vector<int64_t> strides,
                 std::function<void(void*)> deleter, MaybeDevice device, Site s) {
  check_countable("from_blob", checked("from_blob", shape, s), s);
  if (!data && numel(shape) > 0) fail<Error>("from_blob", "the pointer is null", s);
  const Dims steps = checked_strides("from_blob", shape, strides, s);
  if (is_complex(t)) return complex_from_blob(data, shape, t, steps, std::move(deleter), device, s);
  return Tensor(jit::from_blob(data, t, shape, steps, std::move(deleter),
                               device.given ? device.value : jit::default_device(s), s));
}

namespace detail {
Dims checked_strides(const char* op, const Shape& shape, std::span<const int64_t> strides, const Site& s) {
  if (!strides.empty() && strides.size() != static_cast<size_t>(shape.size()))
    fail<ShapeError>(op, std::to_string(strides.size()) + " strides for shape " + to_string(shape), s);
  const Dims steps{strides};
  Wide reach = 16;
  for (int i = 0; i < steps.size(); ++i)
    if (shape[i] > 1) reach += (Wide(shape[i]) - 1) * (steps[i] < 0 ? -Wide(steps[i]) : steps[i]) * 16;
  if (reach > INT64_MAX)
    fail<ShapeError>(
        op, "strides " + to_string(steps) + " reach further than can be addressed: shape " + to_string(shape),
        s);
  return steps;
}
}  // namespace detail

Tensor asarray(Arg x, MaybeDType t, MaybeDevice device) {
  const Operand h("asarray", x);
  return returned(placed(cast(h, t.or_else(h->dtype), x.site()), device, x.site()), x);
}

Tensor tensor(const NestedList& list, MaybeDType dtype, MaybeDevice device, Site s) {
  Shape shape;
  std::vector<const NestedList*> level{&list};
  while (!level.empty() && level[0]->is_list_) {
    const size_t extent = level[0]->items_.size();
    if (shape.size() == kMaxRank)
      fail<ShapeError>("tensor", "lists nested deeper than " + std::to_string(kMaxRank), s);
    shape.push_back(static_cast<int64_t>(extent));
    std::vector<const NestedList*> next;
    for (const NestedList* l : level) {
      if (!l->is_list_) fail<ShapeError>("tensor", "a number where a list is expected", s);
      if (l->items_.size() != extent) throw_ragged(extent, l->items_.size(), s);
      for (const NestedList& item : l->items_) next.push_back(&item);
    }
    level = std::move(next);
  }
  DType t = level.empty() ? get_default_dtype() : level[0]->value_.literal_dtype();
  for (const NestedList* l : level) {
    if (l->is_list_) fail<ShapeError>("tensor", "a list where a number is expected", s);
    if (!dtype.given) t = promote("tensor", t, l->value_.literal_dtype(), s);
  }
  if (dtype.given) t = dtype.value;
  std::vector<char> elements(level.size() * size_of(t));
  char* out = elements.data();
  for (const NestedList* l : level) {
    const ScalarNumber& v = l->value_;
    const jit::Scalar x = number_fits(v, t) ? to_scalar(v, t) : convert(to_scalar(v, v.dtype), v.dtype, t);
    std::memcpy(out, &x.bits, size_of(t));
    out += size_of(t);
  }
  return from_elements("tensor", elements.data(), level.size(), shape, t, t, device, s);
}

Tensor::Tensor(std::initializer_list<NestedList> lists, Site s)
    : Tensor(tensor(NestedList(lists), {}, {}, s)) {}
Tensor::Tensor(ScalarNumber value, const Site& s) {
  const DType t = value.literal_dtype();
  const jit::Scalar x =
      number_fits(value, t) ? to_scalar(value, t) : convert(to_scalar(value, value.dtype), value.dtype, t);
  *this = from_elements("Tensor", &x.bits, 1, {}, t, t, {}, s);
}

namespace detail {
void check_filled(const char* op, size_t count, const Shape& shape, const Site& s) {
  check_countable(op, checked(op, shape, s), s);
  if (static_cast<size_t>(numel(shape)) != count)
    fail<ShapeError>(op, std::to_string(count) + " elements do not fill " + to_string(shape), s);
}

Tensor from_elements(const char* op, const void* elements, size_t count, const Shape& shape, DType from,
                     DType to, MaybeDevice device, const Site& s) {
  const Device where = device.given ? device.value : jit::default_device(s);
  check_filled(op, count, shape, s);
  if (is_complex(from) || is_complex(to)) {
    if (!is_complex(to))
      fail<DtypeError>(op, std::string("complex elements do not go into ") + name_of(to), s);
    const DType plane = plane_type(from), part = plane_type(to);
    std::vector<char> re(count * size_of(plane)), im(count * size_of(plane));
    if (is_complex(from)) deinterleave(plane, elements, re.data(), im.data(), count);
    else std::memcpy(re.data(), elements, re.size());
    const Handle a = from_elements(op, re.data(), count, shape, plane, part, device, s).handle();
    if (!is_complex(from)) return Tensor(complex(a, no_imaginary_part(a, s), s));
    return Tensor(complex(a, from_elements(op, im.data(), count, shape, plane, part, device, s).handle(), s));
  }
  if (from == to) return Tensor(jit::from_bytes(elements, to, shape, where, s));
  std::vector<char> converted(count * size_of(to));
  convert(from, elements, to, converted.data(), count);
  return Tensor(jit::from_bytes(converted.data(), to, shape, where, s));
}

void throw_ragged(size_t expected, size_t found, const Site& s) {
  fail<ShapeError>(
      "tensor",
      "rows are lists of unequal length: " + std::to_string(expected) + " and " + std::to_string(found), s);
}
}  // namespace detail

}  // namespace lazy
