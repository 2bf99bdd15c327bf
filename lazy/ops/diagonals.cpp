#include "lazy/ops/diagonals.hpp"

#include <algorithm>

#include "lazy/ops/creation.hpp"
#include "lazy/ops/einsum.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Returns the order of axes that has axis1 and axis2 last.
Dims matrices_last(const Recorder& r, int rank, IntegerArg axis1, IntegerArg axis2) {
  const int a = normal_axis(r.name, axis1, rank, r.site), b = normal_axis(r.name, axis2, rank, r.site);
  if (a == b) r.fail<IndexError>("axis " + std::to_string(axis2.value) + " is named twice");
  Dims order;
  for (int i = 0; i < rank; ++i)
    if (i != a && i != b) order.push_back(i);
  order.push_back(a);
  order.push_back(b);
  return order;
}

/// Reads a diagonal of the last two axes: of the rows it is in, joined to one axis, every element that is a
/// row and a column on.
Handle diagonal_of(const Recorder& r, Handle h, int64_t offset) {
  const int rank = h->shape.size();
  const int64_t rows = h->shape[rank - 2], columns = h->shape[rank - 1];
  const int64_t k = std::clamp(offset, -rows, columns), row = std::max<int64_t>(-k, 0),
                column = std::max<int64_t>(k, 0);
  const int64_t length = std::min(rows - row, columns - column);
  h = r.part(h, rank - 2, row, length);
  Shape joined = h->shape;
  joined.resize(rank - 1);
  joined[rank - 2] = length * columns;
  return r.part(r.reshape(h, joined), rank - 2, column, length, columns + 1);
}

Handle diagonal_of(const Recorder& r, Arg& x, IntegerArg offset, IntegerArg axis1, IntegerArg axis2) {
  const Handle h = Operand(r.name, x).take();
  const int rank = h->shape.size();
  if (rank < 2) r.fail<ShapeError>("needs two dimensions, not " + to_string(h->shape));
  return diagonal_of(r, r.permute(h, matrices_last(r, rank, axis1, axis2)), offset);
}

/// Makes matrices of the last axis, which is put on a diagonal.
Handle embedded(const Recorder& r, Handle h, IntegerArg offset) {
  const int rank = h->shape.size();
  const int64_t n = h->shape[rank - 1], k = offset;
  const Wide side = Wide(n) + (k < 0 ? -Wide(k) : Wide(k));
  const int64_t m = detail::narrow(r.name, "an extent of", side, r.site);
  Shape shape = h->shape;
  shape[rank - 1] = m;
  Shape full = shape;
  full.push_back(m);
  check_countable(r.name, full, r.site);
  // Columns left of the diagonal, or right of it, have no element of x.
  h = r.replaced(r.filled(0, h->dtype, shape, h), h, rank - 1, std::max<int64_t>(k, 0));
  shape[rank - 1] = 1;
  shape.push_back(m);
  const Handle row = r.op(Op::add, r.index(0, {m, 1}, h), ScalarNumber(k));
  return r.where(r.op(Op::equal, r.index(1, {1, m}, h), row), r.reshape(h, shape), ScalarNumber(0));
}

Handle product(const Recorder& r, const Handle& a, const Handle& b) {
  return r.op(is_bool(a->dtype) ? Op::bitwise_and : Op::multiply, a, b);
}

}  // namespace

Tensor diagonal(Arg x, IntegerArg offset, IntegerArg axis1, IntegerArg axis2) {
  const Recorder r{"diagonal", x.site()};
  return r.tensor(diagonal_of(r, x, offset, axis1, axis2));
}

Tensor trace(Arg x, IntegerArg offset, IntegerArg axis1, IntegerArg axis2, MaybeDType dtype) {
  const Recorder r{"trace", x.site()};
  const Handle h = diagonal_of(r, x, offset, axis1, axis2);
  const DType own = is_float(h->dtype) || is_complex(h->dtype) ? h->dtype
                    : is_unsigned_int(h->dtype)                ? uint64
                                                               : int64,
              t = dtype.or_else(own);
  if (is_bool(t)) r.fail<DtypeError>("does not accumulate in bool");
  return r.tensor(r.reduce(Op::sum, r.as(t, h), {-1}));
}

Tensor diag(Arg x, IntegerArg k) {
  const Recorder r{"diag", x.site()};
  const Handle h = Operand(r.name, x).take();
  if (h->shape.size() == 1) return r.tensor(embedded(r, h, k));
  if (h->shape.size() != 2) r.fail<ShapeError>("takes a vector or a matrix, not " + to_string(h->shape));
  return r.tensor(diagonal_of(r, h, k));
}

Tensor diag_embed(Arg x, IntegerArg offset, IntegerArg axis1, IntegerArg axis2) {
  const Recorder r{"diag_embed", x.site()};
  const Handle h = Operand(r.name, x).take();
  const int rank = h->shape.size() + 1;
  if (rank < 2) r.fail<ShapeError>("needs a dimension");
  if (rank > kMaxRank) r.fail<ShapeError>(to_string(h->shape) + " has the most dimensions possible");
  const Dims order = matrices_last(r, rank, axis1, axis2);
  Dims back(rank, 0);
  for (int i = 0; i < rank; ++i) back[static_cast<int>(order[i])] = i;
  return r.tensor(r.permute(embedded(r, h, offset), back));
}

Tensor tri(IntegerArg rows, IntegerArg columns, IntegerArg k, MaybeDType t, MaybeDevice device, Site s) {
  const Recorder r{"tri", s};
  if (rows < 0) r.fail<ShapeError>("the number of rows can't be negative: " + std::to_string(rows.value));
  const Shape shape{rows, columns < 0 ? rows.value : columns.value};
  check_countable(r.name, shape, s);
  return tril(r.arg(ones(shape, t, device, s).handle()), k);
}

Tensor vander(Arg x, IntegerArg columns, bool increasing) {
  const Recorder r{"vander", x.site()};
  Handle h = Operand(r.name, x).take();
  if (h->shape.size() != 1) r.fail<ShapeError>("takes a vector, not " + to_string(h->shape));
  if (is_bool(h->dtype)) h = r.as(int64, h);
  const int64_t m = h->shape[0], n = columns < 0 ? m : columns.value;
  check_countable(r.name, {m, n}, r.site);
  const DType work = is_half(h->dtype) ? float32 : h->dtype;
  const Handle up = r.index(1, {1, n}, h),
               power = increasing ? up : r.op(Op::subtract, ScalarNumber(n - 1), up);
  return r.tensor(r.as(h->dtype, r.op(Op::power, r.reshape(r.as(work, h), {m, 1}), r.as(work, power))));
}

Tensor kron(Arg a, Arg b) {
  const Recorder r{"kron", a.site()};
  const DType t = common_type(r.name, {&a, &b});
  const Operand x(r.name, a, t), y(r.name, b, t);
  const int rank = std::max(x->shape.size(), y->shape.size());
  if (rank > kMaxRank / 2)
    r.fail<ShapeError>("takes up to " + std::to_string(kMaxRank / 2) + " dimensions, not " +
                       std::to_string(rank));
  Shape left, right, result;
  for (int i = 0; i < rank; ++i) {
    const auto extent = [&](const Shape& s) { return i < rank - s.size() ? 1 : s[i - (rank - s.size())]; };
    const int64_t m = extent(x->shape), n = extent(y->shape);
    left.push_back(m);
    left.push_back(1);
    right.push_back(1);
    right.push_back(n);
    result.push_back(detail::narrow(r.name, "an extent of", Wide(m) * n, r.site));
  }
  check_countable(r.name, result, r.site);
  return r.tensor(r.reshape(product(r, r.reshape(x, left), r.reshape(y, right)), result));
}

Tensor cross(Arg a, Arg b, IntegerArg axis) {
  const Recorder r{"cross", a.site()};
  const DType t = common_type(r.name, {&a, &b});
  if (is_bool(t)) r.fail<DtypeError>("takes numbers, not two of bool: convert with astype");
  const Operand x(r.name, a, t), y(r.name, b, t);
  const int rank = std::max(x->shape.size(), y->shape.size());
  const int at = normal_axis(r.name, axis, rank, r.site);
  const auto vectors = [&](const Handle& h) {
    const int own = at - (rank - h->shape.size());  // the axis counts from the end of the longer shape
    if (own < 0 || h->shape[own] != 3)
      r.fail<ShapeError>("vectors of 3 elements along axis " + std::to_string(axis.value) +
                         " are needed: " + to_string(h->shape));
    return [&r, &h, own](int i) { return r.part(h, own, i, 1); };
  };
  const auto u = vectors(x), v = vectors(y);
  const auto component = [&](int i, int j) {
    return r.op(Op::subtract, r.op(Op::multiply, u(i), v(j)), r.op(Op::multiply, u(j), v(i)));
  };
  const Handle first = component(1, 2);
  Shape shape = first->shape;
  shape[at] = 3;
  Handle all = r.filled(0, t, shape, first);
  all = r.replaced(all, first, at, 0);
  all = r.replaced(all, component(2, 0), at, 1);
  return r.tensor(r.replaced(all, component(0, 1), at, 2));
}

Tensor inner(Arg a, Arg b) {
  const Recorder r{"inner", a.site()};
  const DType t = common_type(r.name, {&a, &b});
  const Handle x = Operand(r.name, a, t).take(), y = Operand(r.name, b, t).take();
  if (x->shape.empty() || y->shape.empty()) return r.tensor(product(r, x, y));
  const int i = x->shape.size() - 1, j = y->shape.size() - 1;
  if (x->shape[i] != y->shape[j])
    r.fail<ShapeError>("the last extents of " + to_string(x->shape) + " and " + to_string(y->shape) +
                       " differ");
  if (i + j > kMaxRank)
    r.fail<ShapeError>("the result has more than " + std::to_string(kMaxRank) + " dimensions");
  return tensordot(r.arg(x), r.arg(y), Axes{i}, Axes{j});
}

}  // namespace lazy
