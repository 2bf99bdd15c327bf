// Solves systems, by the matrix itself or by its factors.
#include <cmath>

#include "jit/built_in/linalg/cholesky.hpp"
#include "jit/built_in/linalg/lu.hpp"
#include "jit/built_in/linalg/solve_triangular.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/linalg/linalg.hpp"
#include "lazy/linalg/matrices.hpp"

namespace lazy {
namespace {
using namespace detail;
namespace calls = jit::calls;

/// Throws ShapeError unless b has as many rows as a square matrix, which `a` is.
void need_rows(const Matrices& r, const Shape& a, const Shape& b, int64_t rows) {
  if (rows != a.back())
    r.fail<ShapeError>("right-hand sides of shape " + to_string(b) +
                       " do not have as many rows as the matrix of shape " + to_string(a));
}

/// Throws ShapeError unless b is a matrix, or a batch of them, with so many rows.
void need_matrix_of_rows(const Matrices& r, const Shape& a, const Shape& b) {
  if (b.size() < 2)
    r.fail<ShapeError>("right-hand sides are columns of a matrix, or of a batch of them, not of shape " +
                       to_string(b) + "; the matrix is of shape " + to_string(a));
  need_rows(r, a, b, b[b.size() - 2]);
}

/// Solves with a call for b (..., n, k), or (n).
Handle solution(const Matrices& r, const Handle& a, const Handle& b) {
  if (b->shape.empty())
    r.fail<ShapeError>("right-hand sides have one dimension or more; the shape is " + to_string(b->shape));
  if (b->shape.size() > 1) {
    need_rows(r, a->shape, b->shape, b->shape[b->shape.size() - 2]);
    return r.transposed(r.solved(calls::kSolve, 0, a, r.transposed(b)));
  }
  need_rows(r, a->shape, b->shape, b->shape[0]);
  const Handle x = r.solved(calls::kSolve, 0, a, r.reshape(b, {1, b->shape[0]}));
  return r.reshape(x, leading(a->shape, 1));
}

/// Solves with a triangular factor, or its adjoint, for right-hand sides that are rows.
Handle substituted(const Matrices& r, const Handle& a, const Handle& rows, bool upper, bool adjoint) {
  const uint32_t flags = upper ? calls::kUpper : 0;
  if (!adjoint) return r.solved(calls::kSolveTriangular, flags, a, rows);
  return conjugate(r.solved(calls::kSolveTriangular, flags | calls::kTransposed, a, conjugate(rows, r.site)),
                   r.site);
}

/// Solves with the product of a triangular factor and its adjoint.
Handle by_cholesky(const Matrices& r, const Handle& l, const Handle& rows, bool upper) {
  return substituted(r, l, substituted(r, l, rows, upper, upper), upper, !upper);
}

/// Holds what determinants are made of.
struct Determinant {
  Handle diagonal;  // of U
  Handle sign;      // of the exchanges of rows
  Handle factors, pivots;
};

Determinant determinant(const Matrices& r, const Handle& x) {
  const std::vector<Handle> out = r.call(calls::kLu, 0, {&x});
  const Shape& s = out[1]->shape;
  const Handle place = r.op(Op::add, r.index(0, {s.back()}, x), 1);
  const Handle exchanged = r.op(Op::not_equal, r.as(int64, out[1]), place);
  const Handle signs = r.where(exchanged, -1, r.filled(1, plane_type(x->dtype), s, x));
  return {r.diagonal(out[0]), r.reduce(Op::prod, signs, {-1}), out[0], out[1]};
}

/// Returns a matrix' cofactors, the derivative of its determinant: that times the transpose of the inverse.
/// In place of a 0 on U's diagonal stands a number that is too small to show; so a singular matrix has them
/// too.
Handle cofactors(const Matrices& r, const Handle& x, const Determinant& d) {
  const Handle most = r.reduce(Op::max, r.op(Op::abs, x), {-2, -1}, keepdims);
  const Handle small = r.op(Op::multiply, r.where(r.op(Op::equal, most, 0), 1, most), std::ldexp(1.0, -60));
  const Handle one = r.identity(x->shape.back(), x->dtype, x);
  const Handle zero = r.both(r.op(Op::equal, d.factors, 0), r.op(Op::equal, one, 1));
  const Handle factors = r.where(zero, r.as(x->dtype, small), d.factors),
               rows = r.over(leading(x->shape, 2), one, 2);
  const Handle inverse = r.call(calls::kLuSolve, 0, {&factors, &d.pivots, &rows})[0];
  const Handle det = r.op(Op::multiply, r.reduce(Op::prod, r.diagonal(factors), {-1}), d.sign);
  return r.op(Op::multiply, inverse, r.with_axes(det, 2));
}

}  // namespace

Tensor solve(Arg a, Arg b) {
  const Matrices r("solve", a.site());
  const DType t = r.wide_type({&a, &b});
  const Handle x = Operand(r.name, a, t).take(), y = Operand(r.name, b, t).take();
  r.need_matrix(x->shape, true);
  return r.tensor(solution(r, x, y));
}

Tensor solve_triangular(Arg a, Arg b, bool upper, bool left, bool unitriangular) {
  const Matrices r("solve_triangular", a.site());
  const DType t = r.wide_type({&a, &b});
  const Handle x = Operand(r.name, a, t).take(), y = Operand(r.name, b, t).take();
  r.need_matrix(x->shape, true);
  const uint32_t flags = (upper ? calls::kUpper : 0) | (unitriangular ? calls::kUnit : 0);
  if (left) {
    need_matrix_of_rows(r, x->shape, y->shape);
    return r.tensor(r.transposed(r.solved(calls::kSolveTriangular, flags, x, r.transposed(y))));
  }
  if (y->shape.size() < 2 || y->shape.back() != x->shape.back())
    r.fail<ShapeError>("right-hand sides of shape " + to_string(y->shape) +
                       " do not have as many columns as the matrix of shape " + to_string(x->shape));
  return r.tensor(r.solved(calls::kSolveTriangular, flags | calls::kTransposed, x, y));
}

Tensor inv(Arg x) {
  const Matrices r("inv", x.site());
  return r.tensor(inverse(r, r.matrix(x, true)));
}

namespace {

/// Returns the cofactors of small matrices as determinants of what is left without a row and a column: unlike
/// those of the factors they have derivatives at singular matrices.
Handle cofactors_of_minors(const Recorder& r, const Handle& x) {
  const int rank = x->shape.size();
  const int64_t n = x->shape.back();
  std::vector<int64_t> others;  // row i: all but i
  std::vector<double> signs;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      if (j != i) others.push_back(j);
      signs.push_back((i + j) % 2 ? -1 : 1);
    }
  const Handle left = values(others.data(), int64, {n, n - 1}, x, r.site);
  const Handle sign = r.as(x->dtype, values(signs.data(), float64, {n, n}, x, r.site));
  const Handle rows = take(r.arg(x), r.arg(left), rank - 2).handle();   // (..., i, row, column)
  const Handle minors = take(r.arg(rows), r.arg(left), rank).handle();  // (..., i, row, j, column)
  Dims axes;
  for (int a = 0; a < rank - 2; ++a) axes.push_back(a);
  for (const int a : {rank - 2, rank, rank - 1, rank + 1}) axes.push_back(a);
  return r.op(Op::multiply, det(r.arg(r.permute(minors, axes))).handle(), sign);
}

}  // namespace

Tensor det(Arg x) {
  const Matrices r("det", x.site());
  const Handle h = r.matrix(x, true);
  const Determinant d = determinant(r, h);
  const auto value = [&] { return r.op(Op::multiply, r.reduce(Op::prod, d.diagonal, {-1}), d.sign); };
  return r.tensor(r.derived({&h}, value, [d](const Differentiated& at) -> std::vector<Handle> {
    const Matrices r("det", at.site);
    const Handle& x = at.operands[0];
    if (numel(x->shape) == 0) return {Handle()};
    constexpr int64_t kSmall = 8;
    const bool minors = at.again && x->shape.back() <= kSmall;
    const Handle all = minors ? cofactors_of_minors(r, x) : cofactors(r, x, d);
    return {r.op(Op::multiply, conjugate(all, r.site), r.with_axes(at.gradient, 2))};
  }));
}

SlogDet slogdet(Arg x) {
  const Matrices r("slogdet", x.site());
  const Determinant d = determinant(r, r.matrix(x, true));
  const Handle sign = r.op(Op::multiply, r.reduce(Op::prod, r.op(Op::sign, d.diagonal), {-1}), d.sign);
  const Handle logs = r.op(Op::log, r.op(Op::abs, d.diagonal));
  return {r.tensor(sign), r.tensor(r.reduce(Op::sum, logs, {-1}))};
}

LU lu(Arg x) {
  const Matrices r("lu", x.site());
  const Handle h = r.matrix(x, false);
  const std::vector<Handle> out = r.call(calls::kLu, 0, {&h});
  const int rank = h->shape.size();
  const int64_t m = h->shape[rank - 2], n = h->shape[rank - 1], k = std::min(m, n);
  const Handle factors = r.transposed(out[0]);
  const auto row = [&](int64_t rows) { return r.index(0, {rows, 1}, h); };
  const auto column = [&](int64_t columns) { return r.index(1, {1, columns}, h); };
  const Handle from = r.reshape(out[2], extended(leading(h->shape, 2), {1, m}));
  const Handle left = r.part(factors, rank - 1, 0, k), right = r.part(factors, rank - 2, 0, k);
  const Handle ones = r.as(h->dtype, r.op(Op::equal, row(m), column(k)));
  return {r.tensor(r.as(h->dtype, r.op(Op::equal, row(m), from))),
          r.tensor(r.where(r.op(Op::greater, row(m), column(k)), left, ones)),
          r.tensor(r.where(r.op(Op::less_equal, row(k), column(n)), right, 0))};
}

LUFactors lu_factor(Arg x) {
  const Matrices r("lu_factor", x.site());
  const Handle h = r.matrix(x, false);
  const std::vector<Handle> out = r.call(calls::kLu, 0, {&h});
  return {r.tensor(r.transposed(out[0])), r.tensor(out[1])};
}

Tensor lu_solve(Arg lu, Arg pivots, Arg b) {
  const Matrices r("lu_solve", lu.site());
  const DType t = r.wide_type({&lu, &b});
  const Handle x = Operand(r.name, lu, t).take(), y = Operand(r.name, b, t).take();
  Handle p = Operand(r.name, pivots).take();
  r.need_matrix(x->shape, true);
  need_matrix_of_rows(r, x->shape, y->shape);
  if (is_float(p->dtype) || is_bool(p->dtype))
    r.fail<DtypeError>(std::string("pivots are integers, not ") + name_of(p->dtype));
  if (p->shape != leading(x->shape, 1))
    r.fail<ShapeError>("pivots of shape " + to_string(p->shape) + " do not fit factors of shape " +
                       to_string(x->shape));
  const Shape batch = broadcast_shapes(r.name, leading(x->shape, 2), leading(y->shape, 2), r.site);
  const Handle factors = r.over(batch, r.transposed(x), 2), rows = r.over(batch, r.transposed(y), 2);
  p = r.over(batch, r.as(int32, p), 1);
  return r.tensor(r.transposed(r.call(calls::kLuSolve, 0, {&factors, &p, &rows})[0]));
}

Tensor cholesky(Arg x, bool upper) {
  const Matrices r("cholesky", x.site());
  Handle h = r.matrix(x, true);
  if (upper) h = r.adjoint(h);
  const Handle l = r.call(calls::kCholesky, 0, {&h})[0];
  return r.tensor(upper ? r.adjoint(l) : l);
}

Tensor cholesky_solve(Arg b, Arg l, bool upper) {
  const Matrices r("cholesky_solve", b.site());
  const DType t = r.wide_type({&l, &b});
  const Handle x = Operand(r.name, l, t).take(), y = Operand(r.name, b, t).take();
  r.need_matrix(x->shape, true);
  need_matrix_of_rows(r, x->shape, y->shape);
  return r.tensor(r.transposed(by_cholesky(r, x, r.transposed(y), upper)));
}

Tensor cholesky_inverse(Arg l, bool upper) {
  const Matrices r("cholesky_inverse", l.site());
  const Handle x = r.matrix(l, true);
  return r.tensor(r.transposed(by_cholesky(r, x, r.identity(x->shape.back(), x->dtype, x), upper)));
}

Tensor tensorsolve(Arg a, Arg b) {
  const Matrices r("tensorsolve", a.site());
  const DType t = r.wide_type({&a, &b});
  const Handle x = Operand(r.name, a, t).take(), y = Operand(r.name, b, t).take();
  const int given = y->shape.size(), rank = x->shape.size();
  Shape unknown;
  for (int i = given; i < rank; ++i) unknown.push_back(x->shape[i]);
  if (given > rank || leading(x->shape, rank - given) != y->shape || numel(unknown) != numel(y->shape))
    r.fail<ShapeError>("the shape " + to_string(x->shape) + " is not that of b, " + to_string(y->shape) +
                       ", and then another of its size");
  const int64_t n = numel(y->shape);
  return r.tensor(r.reshape(solution(r, r.reshape(x, {n, n}), r.reshape(y, {n})), unknown));
}

Tensor tensorinv(Arg x, IntegerArg ind) {
  const Matrices r("tensorinv", x.site());
  const DType t = r.wide_type({&x});
  const Handle h = Operand(r.name, x, t).take();
  const int rank = h->shape.size();
  Shape first, last;
  for (int i = 0; i < rank; ++i) (i < ind ? first : last).push_back(h->shape[i]);
  if (ind <= 0 || ind > rank || numel(first) != numel(last))
    r.fail<ShapeError>("the first " + std::to_string(ind.value) + " axes of shape " + to_string(h->shape) +
                       " have to be of the same size as the others");
  Shape result = last;
  for (const int64_t e : first) result.push_back(e);
  const int64_t n = numel(first);
  return r.tensor(r.reshape(inverse(r, r.reshape(h, {n, n})), result));
}

}  // namespace lazy
