#include "lazy/ops/matmul.hpp"

#include "jit/graph/layout.hpp"
#include "lazy/core/advice.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/core/policy.hpp"
#include "lazy/core/recipe.hpp"
#include "lazy/core/samples.hpp"

namespace lazy {
namespace {
using namespace detail;

[[noreturn]] void mismatch(const char* op, const Handle& a, const Handle& b, const char* why, const Site& s) {
  fail<ShapeError>(
      op, "shapes " + to_string(a->shape) + " and " + to_string(b->shape) + " do not fit: " + why, s);
}

Shape without_last(const Shape& s, int n) {
  Shape r;
  for (int i = 0; i < s.size() - n; ++i) r.push_back(s[i]);
  return r;
}

/// True if neighbours along `axis`, counted from the end, are side by side.
bool runs_along(const Handle& h, int axis) {
  return jit::contiguous_axis_of(*h.get()) == h->shape.size() + axis;
}

/// True for one row times one column; or for one of them times a matrix, if both are contiguous along the
/// sum. Lanes then run along the sum, too.
bool sums_in_lanes(const Handle& a, const Handle& b) {
  const bool row = a->shape[a->shape.size() - 2] == 1, column = b->shape.back() == 1;
  if (row && column) return true;
  if (samples_followed > 0) return false;
  if (!is_float(a->dtype) || row == column || a->shape.back() == 1) return false;
  return runs_along(a, -1) && runs_along(b, -2);
}

/// Sums products along the last axis.
Handle sum_of_products(const char* name, const Handle& a, const Handle& b, const Site& s) {
  const DType t = a->dtype, wide = is_half(t) ? float32 : t;
  const Handle p = binary(name, Op::multiply, cast(a, wide, s), cast(b, wide, s), s);
  return reduce(name, Op::sum, p, {-1}, dropdims, s);
}

/// Multiplies (..., m, k) by (..., k, n), of which one is one row or column.
Handle inner_product(const char* name, const Handle& a, const Handle& b, const Shape& result, const Site& s) {
  const auto as_row = [&](const Handle& h) {  // (..., k, 1) -> (..., 1, k)
    Shape shape = without_last(h->shape, 2);
    shape.push_back(1);
    shape.push_back(h->shape[h->shape.size() - 2]);
    return detail::reshape(h, shape, s);
  };
  const Handle total =
      sum_of_products(name, a, b->shape.back() == 1 ? as_row(b) : detail::matrix_transpose(b, s), s);
  return cast(detail::reshape(total, result, s), a->dtype, s);
}

/// Returns the product where one side has one axis, if lanes run along the sum: what inner_product() gives,
/// without axes of extent 1 that come and go.
Handle with_vector(const char* name, const Handle& a, const Handle& b, const Site& s) {
  const bool row = a->shape.size() == 1, column = b->shape.size() == 1;
  if (row && column) return sum_of_products(name, a, b, s);
  if (samples_followed > 0) return {};
  const Handle &matrix = row ? b : a, &vector = row ? a : b;
  const int along = row ? -2 : -1;
  if (matrix->shape[matrix->shape.size() + (row ? -1 : -2)] != 1 &&
      (!is_float(a->dtype) || vector->shape[0] == 1 || !runs_along(vector, -1) || !runs_along(matrix, along)))
    return {};
  return row ? sum_of_products(name, detail::matrix_transpose(b, s), a, s) : sum_of_products(name, a, b, s);
}

Tensor product(const char* name, Arg& x, Arg& y, MaybeDType dtype) {
  const Site& s = x.site();
  const DType t = dtype.given ? dtype.value : contraction_type(name, {&x, &y});
  tell_of_widening(name, x.handle(), y.handle(), s);
  tell_of_widening(name, y.handle(), x.handle(), s);
  const DType work = is_bool(t) ? int64 : t;
  Handle a = Operand(name, x, work).take(), b = Operand(name, y, work).take();
  if (a->shape.empty() || b->shape.empty()) mismatch(name, a, b, "a 0-d operand (use multiply)", s);
  const bool row = a->shape.size() == 1, column = b->shape.size() == 1;
  const int64_t k = a->shape.back();
  if (k != (column ? b->shape[0] : b->shape[b->shape.size() - 2]))
    mismatch(name, a, b, "the inner extents differ", s);
  if (row || column)
    if (const Handle h = with_vector(name, a, b, s)) return Tensor(cast(h, t, s));
  if (row) a = detail::reshape(a, {1, k}, s);
  if (column) b = detail::reshape(b, {k, 1}, s);
  const Handle h = detail::matmul(name, a, b, s);
  if (!row && !column) return Tensor(cast(h, t, s));
  Shape result = without_last(h->shape, 2);
  if (!row) result.push_back(h->shape[h->shape.size() - 2]);
  if (!column) result.push_back(h->shape.back());
  return Tensor(cast(detail::reshape(h, result, s), t, s));
}

}  // namespace

Handle detail::matmul(const char* name, const Handle& a, const Handle& b, const Site& s) {
  const Shape left = without_last(a->shape, 2), right = without_last(b->shape, 2);
  const bool alike = left == right;
  Shape full = left;
  if (!alike) {
    try {
      full = broadcast_shapes(name, left, right, s);
    } catch (const ShapeError&) { mismatch(name, a, b, "the leading extents do not broadcast", s); }
  }
  const int64_t m = a->shape[a->shape.size() - 2], n = b->shape.back();
  full.push_back(m);
  full.push_back(n);
  check_countable(name, full, s);
  check_devices(name, {&a, &b}, s);
  if (sums_in_lanes(a, b)) return inner_product(name, a, b, full, s);
  return detail::record(Op::matmul, {&a, &b}, a->dtype, full, s);
}

namespace {
/// Multiplies element by element; bools by `and`.
Handle product_of(const char* name, const Handle& a, const Handle& b, const Site& s) {
  return binary(name, is_bool(a->dtype) ? Op::bitwise_and : Op::multiply, a, b, s);
}
}  // namespace

namespace {
/// Multiplies as the weights on the right know how to, if they do: by integers say.
Tensor product_by_weights(const Arg& a, const Arg& b, MaybeDType dtype) {
  const Tensor no_bias;
  if (dtype.given) return {};
  return recorded_by_weights(b, {.function = "matmul", .x = a, .bias = no_bias, .inputs_first = true});
}

Tensor product_of_any(Arg& a, Arg& b, MaybeDType dtype) {
  Tensor y = product_by_weights(a, b, dtype);
  return y.defined() ? std::move(y) : product("matmul", a, b, dtype);
}
}  // namespace

Tensor matmul(Arg a, Arg b, MaybeDType dtype) { return product_of_any(a, b, dtype); }

Tensor dot(Arg a, Arg b) {
  if (shape_of("dot", a).empty() || shape_of("dot", b).empty()) {
    const DType t = common_type("dot", {&a, &b});
    const Operand x("dot", a, t), y("dot", b, t);
    return Tensor(product_of("dot", x, y, a.site()));
  }
  return product("dot", a, b, {});
}

Tensor outer(Arg a, Arg b) {
  constexpr const char* name = "outer";
  const Site& s = a.site();
  const DType t = common_type(name, {&a, &b});
  const Operand x(name, a, t), y(name, b, t);
  const Handle column = detail::reshape(x, {numel(x->shape), 1}, s),
               row = detail::reshape(y, {1, numel(y->shape)}, s);
  return Tensor(product_of(name, column, row, s));
}

Tensor vecdot(Arg a, Arg b, IntegerArg axis) {
  constexpr const char* name = "vecdot";
  const Site& s = a.site();
  for (const Arg* one : {&a, &b})
    if (!one->is_tensor()) fail<Error>(name, "a tensor is needed here, not a scalar", one->site());
  const Operand x(name, a), y(name, b);
  if (axis >= 0)
    fail<IndexError>(name, "the axis counts from the end: it is negative, not " + std::to_string(axis.value),
                     s);
  const int i = normal_axis(name, axis, x->shape.size(), s), j = normal_axis(name, axis, y->shape.size(), s);
  if (x->shape[i] != y->shape[j]) mismatch(name, x, y, "the extents of the summed axis differ", s);
  const DType t = promote(name, x->dtype, y->dtype, s), work = is_bool(t) ? int64 : t;
  const Handle p = binary(name, Op::multiply, cast(conjugate(x, s), work, s), cast(y, work, s), s);
  return Tensor(cast(reduce(name, Op::sum, p, {axis}, dropdims, s), t, s));
}

}  // namespace lazy
