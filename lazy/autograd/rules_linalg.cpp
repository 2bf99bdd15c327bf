// Holds the rules of the calls of linear algebra. Sources: Giles, Collected matrix derivative results for
// forward and reverse mode algorithmic differentiation (2008), for systems, determinants, eigenvalues and
// singular values; Seeger and others, Auto-differentiating linear algebra (2017), for Cholesky's factor;
// Walter and Lehmann, Algorithmic differentiation of linear algebra functions (2010), for QR; Higham,
// Functions of matrices (2008), 3.2, for the exponential. In comments G is the gradient of a result X.
//
// Functions that read one triangle of a symmetric matrix have a symmetric gradient, as torch's. Where
// singular values, or eigenvalues, are equal, vectors have no derivative: a gradient of them is not finite
// there, one of the values alone is. Vectors that `full_matrices` adds are any basis, and have none.
#include <limits>

#include "jit/built_in/linalg/cholesky.hpp"
#include "jit/built_in/linalg/eig.hpp"
#include "jit/built_in/linalg/eigh.hpp"
#include "jit/built_in/linalg/lu.hpp"
#include "jit/built_in/linalg/matrix_exp.hpp"
#include "jit/built_in/linalg/qr.hpp"
#include "jit/built_in/linalg/solve_triangular.hpp"
#include "jit/built_in/linalg/svd.hpp"
#include "lazy/autograd/call_rules.hpp"
#include "lazy/linalg/matrices.hpp"

namespace lazy::detail {
namespace {

using D = const Differentiation&;
namespace calls = jit::calls;

/// True if nothing depends on the result whose gradient this is.
bool is_zero(const Term& g) {
  const Handle& h = g.handle();
  return h->op == Op::constant && h->scalar.bits == 0;
}

/// Records what formulas of matrices are made of, the last two axes of terms.
class Linear {
 public:
  Linear(D d, const char* function) : flags(0), d_(d), r_(function, d.site) {}
  explicit Linear(D d)
      : flags(d.op.call().as<calls::MatrixAttributes>().flags), d_(d), r_(d.op.call().name(), d.site) {}

  const uint32_t flags;  // of the call that is differentiated

  [[noreturn]] void fail(const char* what) const { r_.fail<Error>(what); }
  Term product(const Term& a, const Term& b) const { return d_.term(r_.product(a.handle(), b.handle())); }
  Term transposed(const Term& a) const { return d_.term(r_.transposed(a.handle())); }
  std::vector<Term> call(const jit::CallDefinition& c, uint32_t f,
                         std::initializer_list<const Handle*> operands) const {
    std::vector<Term> results;
    for (const Handle& h : r_.call(c, f, operands)) results.push_back(d_.term(h));
    return results;
  }
  /// Returns rows * inverse(transpose(a)), which solves for each row; with kTransposed rows * inverse(a).
  Term substituted(const Term& a, const Term& rows, uint32_t f) const {
    return call(calls::kSolveTriangular, f, {&a.handle(), &rows.handle()})[0];
  }
  /// Takes `a` where row and column compare so, `b` elsewhere.
  template <class B>
  Term chosen(Op row_to_column, const Term& a, const B& b) const {
    return where(compared(row_to_column, a), a, b);
  }
  Term compared(Op row_to_column, const Term& like) const {
    return binary(row_to_column, d_.index(0, {like.extent(-2), 1}, like),
                  d_.index(1, {1, like.extent(-1)}, like));
  }
  /// Returns 1 where row and column are equal, else 0, for one matrix like those.
  Term identity(const Term& like) const {
    return where(compared(Op::equal, like), like.number(1), like.number(0));
  }
  /// Returns the lower triangle, and mirrored above.
  Term mirrored(const Term& a) const { return chosen(Op::greater_equal, a, transposed(a)); }
  /// Returns vectors as matrices of one row, and of one column.
  Term row(const Term& v) const { return reshape(v, extended(leading(v.shape(), 1), {1, v.extent(-1)})); }
  Term column(const Term& v) const { return d_.term(r_.with_axes(v.handle(), 1)); }
  Term diagonal(const Term& v) const {
    return where(compared(Op::equal, broadcast(row(v), extended(v.shape(), {v.extent(-1)}))), row(v), 0);
  }
  /// Replaces a block of `a`, whose first element is at that row and column.
  Term with_block(const Term& a, const Term& block, int64_t row, int64_t column) const {
    if (numel(block.shape()) == 0) return a;
    Dims start(a.rank(), 0);
    start[a.rank() - 2] = row;
    start[a.rank() - 1] = column;
    return d_.term(slice_update(r_.name, a.handle(), block.handle(), start, Dims(a.rank(), 1), d_.site));
  }

 private:
  D d_;
  const Matrices r_;
};

/// Adds `gradient()` to what operand 0 has so far, unless it has no elements.
template <class F>
void to_matrix(D d, F&& gradient) {
  if (numel(d.x(0).shape()) > 0) d.to(0, std::forward<F>(gradient));
}

/// X X^T is the matrix: inverse(X)^T S inverse(X) / 2, where S is X^T G's lower triangle, mirrored.
void cholesky(D d) {
  to_matrix(d, [&] {
    const Linear a(d, "cholesky_inverse");
    const Term x = d.y(), s = a.mirrored(a.product(a.transposed(x), d.g()));
    const Term right = a.substituted(x, s, calls::kTransposed);
    return a.substituted(x, a.transposed(right), calls::kTransposed) * 0.5;
  });
}

/// A right-hand side's gradient is the solution, for G, with the transpose; that of the matrix is minus its
/// outer product with X.
void solved_by_triangle(D d) {
  const Linear a(d);
  const bool transposed = a.flags & calls::kTransposed, unit = a.flags & calls::kUnit;
  const Term b = a.substituted(d.x(0), d.g(), a.flags ^ calls::kTransposed);
  d.to(1, [&] { return b; });
  d.to(0, [&] {
    const Term x = d.y(), all = transposed ? a.product(a.transposed(x), b) : a.product(a.transposed(b), x);
    if (a.flags & calls::kUpper) return a.chosen(unit ? Op::less : Op::less_equal, -all, 0);
    return a.chosen(unit ? Op::greater : Op::greater_equal, -all, 0);
  });
}

void solved(D d) {
  const Linear a(d);
  const Term of_transposed = a.transposed(d.x(0));
  const Term b = a.call(calls::kSolve, a.flags, {&of_transposed.handle(), &d.g().handle()})[0];
  d.to(1, [&] { return b; });
  d.to(0, [&] { return -a.product(a.transposed(b), d.y()); });
}

/// Returns a square upper triangular factor in which a 0 on the diagonal is the smallest number: what is 0
/// divides to 0 by it, all else to infinity or nearly.
Term without_zeros(const Linear& a, const Term& u) {
  const double least = u.handle()->dtype == float32 ? double{std::numeric_limits<float>::min()}
                                                    : std::numeric_limits<double>::min();
  return where(a.compared(Op::equal, u) & (u == 0), least, u);
}

/// Returns the gradient of P^T x by those of its factors L (m, k) and U (k, n), in one matrix. M stands for
/// L^T G_L - G_U U^T; it is inverse(L)^T (G_U + lower(M) inverse(U)^T) for m <= n, else
/// (G_L - inverse(L)^T upper(M)) inverse(U)^T; where L or U is no square, its square part is inverted.
Term of_factors(const Linear& a, const Term& factors, const Term& g) {
  const int64_t m = g.extent(-2), n = g.extent(-1), k = std::min(m, n);
  const Term square = part(part(factors, -2, 0, k), -1, 0, k), pivots = without_zeros(a, square);
  const Term below = part(factors, -1, 0, k);
  const Term l = a.chosen(Op::greater, below, a.identity(below));
  const Term u = a.chosen(Op::less_equal, part(factors, -2, 0, k), 0);
  const Term gl = a.chosen(Op::greater, part(g, -1, 0, k), 0),
             gu = a.chosen(Op::less_equal, part(g, -2, 0, k), 0);
  const Term both = a.product(a.transposed(l), gl) - a.product(gu, a.transposed(u));
  // inverse(L)^T times something is the transpose of that, transposed, times inverse(L).
  const auto by_l = [&](const Term& t) {
    return a.transposed(a.substituted(square, a.transposed(t), calls::kUnit | calls::kTransposed));
  };
  if (m <= n) {
    const Term first = a.substituted(pivots, a.chosen(Op::greater, both, 0), calls::kUpper);
    return by_l(a.with_block(gu, part(gu, -1, 0, k) + first, 0, 0));
  }
  const Term first = part(gl, -2, 0, k) - by_l(a.chosen(Op::less_equal, both, 0));
  return a.substituted(pivots, a.with_block(gl, first, 0, 0), calls::kUpper);
}

/// The first output is the transpose of both factors; row i of their product is row order[i] of the matrix.
void factored(D d) {
  to_matrix(d, [&] {
    const Linear a(d);
    const Term g = of_factors(a, a.transposed(d.y(0)), a.transposed(d.g(0)));
    const Term order = d.y(2);
    const Handle rows = d.broadcast(reshape(order, extended(order.shape(), {1})).handle(), g.shape());
    return d.added_at(0, g, rows, g.rank() - 2);
  });
}

/// L U x = P^T b: with v = inverse(U)^T G and w = inverse(L)^T v the gradients are -v x^T of U, -w (U x)^T of
/// L, and P w of b.
void solved_by_factors(D d) {
  const Linear a(d);
  const Term f = a.transposed(d.x(0)), x = d.y();
  if (numel(x.shape()) == 0) return;
  const Term v = a.substituted(f, d.g(), calls::kUpper | calls::kTransposed);
  const Term w = a.substituted(f, v, calls::kUnit | calls::kTransposed);
  d.to(0, [&] {
    const Term ux = a.product(x, a.transposed(a.chosen(Op::less_equal, f, 0)));
    return a.transposed(
        -a.chosen(Op::greater, a.product(a.transposed(w), ux), a.product(a.transposed(v), x)));
  });
  d.to(2, [&] {
    // Solving by the exchanges alone tells where the rows of P^T b are in b.
    const Term one = broadcast(a.identity(f), f.shape()), here = part(x, -2, 0, 1);
    const Term places = d.index(here.rank() - 1, here.shape(), here).as(f.handle()->dtype);
    const Term order =
        a.call(calls::kLuSolve, 0, {&one.handle(), &d.op.operands[1], &places.handle()})[0].as(int64);
    return d.added_at(2, w, d.broadcast(order.handle(), w.shape()), w.rank() - 1);
  });
}

/// (G_Q + Q S) inverse(R)^T, where S is the lower triangle of R G_R^T - G_Q^T Q, mirrored.
Term of_orthogonal(const Linear& a, const Term& q, const Term& r, const Term& gq, const Term& gr) {
  const Term s = a.mirrored(a.product(r, a.transposed(gr)) - a.product(a.transposed(gq), q));
  return a.substituted(r, gq + a.product(q, s), calls::kUpper);
}

/// The columns beyond a square are Q times R's, and depend on the others by Q.
void orthogonal(D d) {
  to_matrix(d, [&] {
    const Linear a(d);
    Term x = d.x(0), q = d.y(0), r = d.y(1), gq = d.g(0), gr = d.g(1);
    const int64_t n = x.extent(-1), k = std::min(x.extent(-2), n), more = n - k;
    if (q.extent(-1) > n) {
      if (!is_zero(gq))
        a.fail("Q of the mode \"complete\" has no derivative where there are more rows than columns");
      // R alone has the derivative of the reduced Q.
      const std::vector<Term> reduced = a.call(calls::kQr, 0, {&d.op.operands[0]});
      q = reduced[0], r = reduced[1], gq = d.zeros_like(q), gr = part(gr, -2, 0, n);
    }
    if (more == 0) return of_orthogonal(a, q, r, gq, gr);
    const Term rest = part(gr, -1, k, more);
    gq = gq + a.product(part(x, -1, k, more), a.transposed(rest));
    const Term first = of_orthogonal(a, q, part(r, -1, 0, k), gq, part(gr, -1, 0, k));
    return a.with_block(a.with_block(d.zeros_like(x), first, 0, 0), a.product(q, rest), 0, k);
  });
}

/// Returns (p - p^T) / e.
Term skew(const Linear& a, const Term& p, const Term& e) { return (p - a.transposed(p)) / e; }

/// U (diag(G_S) + skew(U^T G_U) S + S skew(V^T G_V)) V^T, and what of G_U and G_V is orthogonal to U and V.
Term of_singular(const Linear& a, const Term& u, const Term& s, const Term& vh, const Term& gu,
                 const Term& gs, const Term& gvh) {
  const Term along = a.row(s), down = a.column(s);
  const Term squares = a.chosen(Op::not_equal, (along - down) * (along + down), 1);
  Term inner = a.diagonal(gs);
  if (!is_zero(gu)) inner = inner + skew(a, a.product(a.transposed(u), gu), squares) * along;
  if (!is_zero(gvh)) inner = inner + down * skew(a, a.product(vh, a.transposed(gvh)), squares);
  Term all = a.product(u, inner);
  if (!is_zero(gu) && u.extent(-2) > u.extent(-1)) {
    const Term scaled = gu / along;
    all = all + scaled - a.product(u, a.product(a.transposed(u), scaled));
  }
  all = a.product(all, vh);
  if (is_zero(gvh) || vh.extent(-1) == vh.extent(-2)) return all;
  const Term scaled = gvh / down;
  return all + a.product(u, scaled - a.product(a.product(scaled, a.transposed(vh)), vh));
}

void singular(D d) {
  to_matrix(d, [&] {
    const Linear a(d);
    if (a.flags & calls::kSingularValuesOnly) {
      const std::vector<Term> all = a.call(calls::kSvd, 0, {&d.op.operands[0]});
      return a.product(all[0] * a.row(d.g()), all[2]);
    }
    const int64_t k = d.y(1).extent(-1);
    const auto columns = [&](const Term& t) { return part(t, -1, 0, k); };
    const auto rows = [&](const Term& t) { return part(t, -2, 0, k); };
    return of_singular(a, columns(d.y(0)), d.y(1), rows(d.y(2)), columns(d.g(0)), d.g(1), rows(d.g(2)));
  });
}

/// Returns e[i][j] = values[j] - values[i], and 1 on the diagonal.
Term differences(const Linear& a, const Term& values) {
  return a.chosen(Op::not_equal, a.row(values) - a.column(values), 1);
}

/// V (diag(G) + skew(V^T G_V) / 2) V^T. Vectors are rows here: W is V^T.
void symmetric(D d) {
  to_matrix(d, [&] {
    const Linear a(d);
    if (a.flags & calls::kValuesOnly) {
      const std::vector<Term> all = a.call(calls::kEigh, a.flags & ~calls::kValuesOnly, {&d.op.operands[0]});
      return a.product(a.transposed(all[1]), a.column(d.g()) * all[1]);
    }
    const Term w = d.y(1);
    Term inner = a.diagonal(d.g(0));
    if (!is_zero(d.g(1)))
      inner = inner + skew(a, a.product(w, a.transposed(d.g(1))), differences(a, d.y(0))) * 0.5;
    return a.product(a.transposed(w), a.product(inner, w));
  });
}

/// inverse(V)^T (diag(G) + (C - V^T V diag(C)) / e) V^T, with C = V^T G_V: vectors have length 1.
void general(D d) {
  to_matrix(d, [&] {
    const Linear a(d);
    const bool values_only = a.flags & calls::kEigenvaluesOnly;
    const std::vector<Term> all =
        values_only ? a.call(calls::kEig, 0, {&d.op.operands[0]}) : std::vector<Term>{d.y(0), d.y(1)};
    const Term& w = all[1];
    Term inner = a.diagonal(d.g(0));
    if (!values_only && !is_zero(d.g(1))) {
      const Term c = a.product(w, a.transposed(d.g(1)));
      const Term lengths = sum(a.chosen(Op::equal, c, 0), {c.rank() - 2});
      const Term change = c - a.product(w, a.transposed(w)) * lengths;
      inner = inner + a.chosen(Op::not_equal, change / differences(a, all[0]), 0);
    }
    const Term rows = a.transposed(a.product(inner, w));
    return a.transposed(a.call(calls::kSolve, 0, {&w.handle(), &rows.handle()})[0]);
  });
}

/// The upper right block of the exponential of [A^T G; 0 A^T].
void exponential(D d) {
  to_matrix(d, [&] {
    const Linear a(d);
    const Term x = a.transposed(d.x(0));
    const int64_t n = x.extent(-1);
    const Term zeros =
        d.term(d.filled(0, x.handle()->dtype, extended(leading(x.shape(), 2), {2 * n, 2 * n}), x.handle()));
    const Term both = a.with_block(a.with_block(a.with_block(zeros, x, 0, 0), x, n, n), d.g(), 0, n);
    return part(part(a.call(calls::kMatrixExp, 0, {&both.handle()})[0], -2, 0, n), -1, n, n);
  });
}

constexpr CallRow kLinearRules[] = {
    {&calls::kCholesky, cholesky}, {&calls::kSolveTriangular, solved_by_triangle},
    {&calls::kSolve, solved},      {&calls::kLu, factored},
    {&calls::kQr, orthogonal},     {&calls::kLuSolve, solved_by_factors},
    {&calls::kSvd, singular},      {&calls::kEigh, symmetric},
    {&calls::kEig, general},       {&calls::kMatrixExp, exponential}};

}  // namespace

std::span<const CallRow> linear_call_rules() { return kLinearRules; }

}  // namespace lazy::detail
