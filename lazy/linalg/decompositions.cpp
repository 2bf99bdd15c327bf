// Decomposes matrices, and what follows from singular values: least squares, pseudo-inverses, ranks.
#include <algorithm>

#include "jit/built_in/linalg/eig.hpp"
#include "jit/built_in/linalg/eigh.hpp"
#include "jit/built_in/linalg/qr.hpp"
#include "jit/built_in/linalg/svd.hpp"
#include "lazy/linalg/linalg.hpp"
#include "lazy/linalg/matrices.hpp"

namespace lazy {
namespace {
using namespace detail;
namespace calls = jit::calls;

/// Records eigh() or eigvalsh().
std::vector<Handle> symmetric(const Matrices& r, Arg& x, char uplo, bool values_only) {
  const bool upper = uplo == 'U' || uplo == 'u';
  if (!upper && uplo != 'L' && uplo != 'l')
    r.fail<Error>(std::string("uplo is 'L' or 'U', not '") + uplo + "'");
  const Handle h = r.matrix(x, true);
  return r.call(calls::kEigh, (upper ? calls::kUpperTriangle : 0) | (values_only ? calls::kValuesOnly : 0),
                {&h});
}

Handle count_above(const Matrices& r, const Handle& s, const Handle& cutoff) {
  return r.reduce(Op::sum, r.as(int64, r.op(Op::greater, s, cutoff)), {-1});
}

/// Returns the gradient of a matrix x by that of its pseudo-inverse p (Golub and Pereyra, The differentiation
/// of pseudo-inverses, 1973), which has one where singular values are equal as well.
Handle of_pseudo_inverse(const Matrices& r, const Handle& x, const Handle& p, const Handle& g) {
  const Handle pt = r.adjoint(p), gt = r.adjoint(g);
  const Handle left = r.product(gt, p), right = r.product(p, gt);
  const Handle columns = r.product(r.op(Op::subtract, left, r.product(x, r.product(p, left))), pt);
  const Handle rows = r.product(pt, r.op(Op::subtract, right, r.product(r.product(right, p), x)));
  return r.op(Op::subtract, r.op(Op::add, columns, rows), r.product(r.product(pt, g), pt));
}

Handle pseudo_inverse(const Matrices& r, const Handle& h, std::optional<double> rtol, bool hermitian) {
  const auto value = [&] {
    const Thin d = hermitian ? symmetric_svd(r, h, false) : thin_svd(r, h);
    const Handle inverse = reciprocals(r, d.s, cutoff(r, d.s, h->shape, rtol));
    const Handle scaled = r.op(Op::multiply, r.adjoint(d.u), r.with_axes(inverse, 1));
    return r.product(r.adjoint(d.vh), scaled);
  };
  return r.derived({&h}, value, [=, name = r.name](const Differentiated& at) -> std::vector<Handle> {
    const Matrices r(name, at.site);
    Handle x = at.operands[0];
    const Handle p = at.result ? at.result : pseudo_inverse(r, x, rtol, hermitian);
    if (hermitian) {  // of which one triangle was read
      const Handle lower =
          r.op(Op::greater_equal, r.index(0, {x->shape.back(), 1}, x), r.index(1, {1, x->shape.back()}, x));
      x = r.where(lower, x, r.adjoint(x));
    }
    const Handle g = of_pseudo_inverse(r, x, p, at.gradient);
    return {hermitian ? r.op(Op::multiply, r.op(Op::add, g, r.adjoint(g)), 0.5) : g};
  });
}

/// Returns the shortest of the best solutions for b (..., m, k), and rank and singular values of a.
LeastSquares least_squares(const Matrices& r, const Handle& a, const Handle& b, std::optional<double> rcond) {
  const Thin d = thin_svd(r, a);
  const Shape& s = a->shape;
  const bool empty = d.s->shape.back() == 0;  // nothing is the largest singular value then
  const Handle limit =
      empty ? r.filled(0, d.s->dtype, extended(leading(s, 2), {1}), a) : cutoff(r, d.s, s, rcond);
  const auto value = [&] {
    const Handle along = r.product(r.adjoint(d.u), b), inverse = reciprocals(r, d.s, limit);
    return r.product(r.adjoint(d.vh), r.op(Op::multiply, along, r.with_axes(inverse, 1)));
  };
  const Handle x = r.derived({&a, &b}, value, [rcond](const Differentiated& at) -> std::vector<Handle> {
    if (numel(at.operands[0]->shape) == 0) return {};
    const Matrices r("lstsq", at.site);
    const Handle p = pseudo_inverse(r, at.operands[0], rcond, false);
    const Handle g = r.product(at.gradient, r.adjoint(at.operands[1]));
    return {at.wants(0) ? of_pseudo_inverse(r, at.operands[0], p, g) : Handle(),
            r.product(r.adjoint(p), at.gradient)};
  });
  const Handle rest = squared_modulus(r.name, r.op(Op::subtract, b, r.product(a, x)), r.site);
  return {r.tensor(x), r.tensor(r.reduce(Op::sum, rest, {-2})), r.tensor(count_above(r, d.s, limit)),
          r.tensor(d.s)};
}

}  // namespace

QR qr(Arg x, std::string_view mode) {
  const Matrices r("qr", x.site());
  if (mode != "reduced" && mode != "complete" && mode != "r")
    r.fail<Error>("the mode is \"reduced\", \"complete\" or \"r\", not \"" + std::string(mode) + '"');
  const Handle h = r.matrix(x, false);
  const std::vector<Handle> out = r.call(calls::kQr, mode == "complete" ? calls::kComplete : 0, {&h});
  return {mode == "r" ? Tensor() : r.tensor(out[0]), r.tensor(out[1])};
}

SVD svd(Arg x, bool full_matrices) {
  const Matrices r("svd", x.site());
  const Handle h = r.matrix(x, false);
  const std::vector<Handle> out = r.call(calls::kSvd, full_matrices ? calls::kFullMatrices : 0, {&h});
  return {r.tensor(out[0]), r.tensor(out[1]), r.tensor(out[2])};
}

Tensor svdvals(Arg x) {
  const Matrices r("svdvals", x.site());
  return r.tensor(singular_values(r, r.matrix(x, false)));
}

Eigh eigh(Arg x, char uplo) {
  const Matrices r("eigh", x.site());
  const std::vector<Handle> out = symmetric(r, x, uplo, false);
  return {r.tensor(out[0]), r.tensor(r.adjoint(out[1]))};
}

Tensor eigvalsh(Arg x, char uplo) {
  const Matrices r("eigvalsh", x.site());
  return r.tensor(symmetric(r, x, uplo, true)[0]);
}

Eig eig(Arg x) {
  const Matrices r("eig", x.site());
  const Handle h = r.matrix(x, true);
  const std::vector<Handle> out = r.call(calls::kEig, 0, {&h});
  return {r.tensor(out[0]), r.tensor(r.transposed(out[1]))};
}

Tensor eigvals(Arg x) {
  const Matrices r("eigvals", x.site());
  const Handle h = r.matrix(x, true);
  return r.tensor(r.call(calls::kEig, calls::kEigenvaluesOnly, {&h})[0]);
}

LeastSquares lstsq(Arg a, Arg b, std::optional<double> rcond) {
  const Matrices r("lstsq", a.site());
  const DType t = r.wide_type({&a, &b});
  Handle x = Operand(r.name, a, t).take(), y = Operand(r.name, b, t).take();
  r.need_matrix(x->shape, false);
  const bool vector = y->shape.size() == 1;
  if (vector) y = r.with_axes(y, 1);
  const int rank = y->shape.size();
  if (rank < 2 || y->shape[rank - 2] != x->shape[x->shape.size() - 2])
    r.fail<ShapeError>("right-hand sides of shape " + to_string(vector ? leading(y->shape, 1) : y->shape) +
                       " do not have as many rows as the matrix of shape " + to_string(x->shape));
  const Shape batch = broadcast_shapes(r.name, leading(x->shape, 2), leading(y->shape, 2), r.site);
  LeastSquares result = least_squares(r, x, r.over(batch, y, 2), rcond);
  if (!vector) return result;
  const auto without_last = [&](const Tensor& v) {
    return r.tensor(r.reshape(v.handle(), leading(v.handle()->shape, 1)));
  };
  return {without_last(result.solution), without_last(result.residuals), result.rank, result.singular_values};
}

Tensor pinv(Arg x, std::optional<double> rtol, bool hermitian) {
  const Matrices r("pinv", x.site());
  const Handle h = r.matrix(x, hermitian);
  const Shape& s = h->shape;
  const int rank = s.size();
  if (s[rank - 1] == 0 || s[rank - 2] == 0)
    return r.tensor(r.filled(0, h->dtype, extended(leading(s, 2), {s[rank - 1], s[rank - 2]}), h));
  return r.tensor(pseudo_inverse(r, h, rtol, hermitian));
}

Tensor matrix_rank(Arg x, std::optional<double> rtol, bool hermitian, double atol) {
  const Matrices r("matrix_rank", x.site());
  const Handle h = r.matrix(x, hermitian);
  const Shape& s = h->shape;
  if (s.back() == 0 || s[s.size() - 2] == 0) return r.tensor(r.filled(0, int64, leading(s, 2), h));
  const Handle values = hermitian ? symmetric_svd(r, h, true).s : singular_values(r, h);
  if (atol > 0 && !rtol) rtol = 0;
  const Handle limit = r.op(Op::maximum, cutoff(r, values, s, rtol), atol);
  return r.tensor(count_above(r, values, limit));
}

}  // namespace lazy
