#include <cmath>
#include <limits>

#include "lazy/linalg/linalg.hpp"
#include "lazy/linalg/matrices.hpp"
#include "lazy/ops/roots.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Throws Error unless the order is one of those documented.
void check_order(const Recorder& r, const NormOrder& o) {
  if (!o.name().empty()) {
    if (o.name() != "fro" && o.name() != "nuc")
      r.fail<Error>("a norm is called \"fro\" or \"nuc\", not \"" + std::string(o.name()) + '"');
    return;
  }
  const double p = std::abs(o.order());
  if (p != 1 && p != 2 && !std::isinf(p))
    r.fail<Error>("the order is 1, 2 or infinity, or minus that, not " + std::to_string(o.order()));
}

bool by_singular_values(const NormOrder& o) { return o.name() == "nuc" || std::abs(o.order()) == 2; }

/// Returns the norm along the last two axes, which are dropped.
Handle norm_of(const Matrices& r, const Handle& h, const NormOrder& o) {
  if (o.name() == "fro") return power_norm(r, h, 2, {-2, -1}, dropdims);
  const Op extreme = o.order() > 0 ? Op::max : Op::min;
  if (!by_singular_values(o)) {
    const Handle sums = r.reduce(Op::sum, r.op(Op::abs, h), {std::isinf(o.order()) ? -1 : -2});
    return r.reduce(extreme, sums, {-1});
  }
  const Handle s = singular_values(r, h);
  return r.reduce(o.name() == "nuc" ? Op::sum : extreme, s, {-1});
}

/// Exchanges axes so that those given are the last two.
Handle with_matrices_last(const Matrices& r, const Handle& h, const Axes& axes) {
  if (axes.size() != 2)
    r.fail<ShapeError>("two axes are needed, not " + std::to_string(axes.size()) + ", of the shape " +
                       to_string(h->shape));
  const int rows = r.axis(axes[0], h), columns = r.axis(axes[1], h);
  if (rows == columns) r.fail<IndexError>("axis " + std::to_string(axes[1]) + " is named twice");
  Dims order;
  for (int i = 0; i < h->shape.size(); ++i)
    if (i != rows && i != columns) order.push_back(i);
  order.push_back(rows);
  order.push_back(columns);
  return r.permute(h, order);
}

}  // namespace

Tensor matrix_norm(Arg x, NormOrder order, Axes axes, KeepDims keep) {
  const Matrices r("matrix_norm", x.site());
  check_order(r, order);
  DType t, inside;
  if (by_singular_values(order)) t = inside = r.wide_type({&x});
  else t = float_type(common_type(r.name, {&x})), inside = wide_float(t);
  const Handle h = Operand(r.name, x, inside).take();
  r.need_matrix(h->shape, false);
  Handle n = norm_of(r, with_matrices_last(r, h, axes), order);
  if (keep.value) {
    Shape kept = h->shape;
    for (const int64_t a : axes) kept[r.axis(a, h)] = 1;
    n = r.reshape(n, kept);
  }
  return r.tensor(r.as(plane_type(t), n));
}

Tensor cond(Arg x, NormOrder p) {
  const Matrices r("cond", x.site());
  check_order(r, p);
  const bool two = p.name().empty() && std::abs(p.order()) == 2;
  const Handle h = r.matrix(x, !two);
  const Shape& s = h->shape;
  if (s.back() == 0 || s[s.size() - 2] == 0)
    r.fail<ShapeError>("a matrix of shape " + to_string(s) + " has no elements");
  Handle ratio;
  if (two) {
    const Handle values = singular_values(r, h);
    const Handle most = r.reduce(Op::max, values, {-1}), least = r.reduce(Op::min, values, {-1});
    ratio = p.order() > 0 ? r.op(Op::divide, most, least) : r.op(Op::divide, least, most);
  } else if (p.name() == "nuc") {
    const Handle values = singular_values(r, h);  // those of the inverse are 1 over these
    ratio = r.op(Op::multiply, r.reduce(Op::sum, values, {-1}),
                 r.reduce(Op::sum, r.op(Op::divide, 1, values), {-1}));
    // A zero pivot is some rounding away from 0 in one LAPACK or another, so pivots are the library's own.
    const Handle singular = r.reduce(Op::any, r.op(Op::isinf, inverse_or_infinite(r, h)), {-2, -1});
    ratio = r.where(singular, std::numeric_limits<double>::infinity(), ratio);
  } else {
    ratio = r.op(Op::multiply, norm_of(r, h, p), norm_of(r, inverse_or_infinite(r, h), p));
  }
  // 0 by 0, of a matrix of zeros, is infinite too.
  const Handle odd =
      r.both(r.op(Op::isnan, ratio), r.opposite(r.reduce(Op::any, r.op(Op::isnan, h), {-2, -1})));
  return r.tensor(r.where(odd, std::numeric_limits<double>::infinity(), ratio));
}

Tensor linalg::norm(Arg x, NormOrder order, Axes axes, KeepDims keep) {
  const Site s = x.site();
  const int dimensions = Operand("norm", x)->shape.size(), along = axes.empty() ? dimensions : axes.size();
  if (along == 2) return matrix_norm(std::move(x), order, axes.empty() ? Axes{0, 1} : axes, keep);
  if (along != 1)
    fail<ShapeError>("norm",
                     "with an order it takes one axis or two, not " + std::to_string(along) +
                         ": vector_norm() takes any number",
                     s);
  if (!order.name().empty())
    fail<Error>("norm", "\"" + std::string(order.name()) + "\" is a norm of matrices, not of vectors", s);
  return vector_norm(std::move(x), order.order(), axes, keep);
}

}  // namespace lazy
