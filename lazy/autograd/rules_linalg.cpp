// Holds the rules of the calls of linear algebra. Sources: Giles, Collected matrix derivative results for
// forward and reverse mode algorithmic differentiation (2008), for systems, determinants, eigenvalues and
// singular values; Seeger and others, Auto-differentiating linear algebra (2017), for Cholesky's factor;
// Walter and Lehmann, Algorithmic differentiation of linear algebra functions (2010), for QR; Higham,
// Functions of matrices (2008), 3.2, for the exponential. In comments G is the gradient of a result X.
// Matrices are complex: ^H is the conjugated transpose, which is the transpose of real ones. Complex
// gradients are dL/d re + i dL/d im, torch's convention.
//
// Functions that read one triangle of a symmetric matrix have a symmetric gradient, as torch's. Where
// singular values, or eigenvalues, are equal, vectors have no derivative: a gradient of them is not finite
// there, one of the values alone is. Vectors that `full_matrices` adds are any basis, and have none. Complex
// vectors are right with any factor of length 1: their gradients are those of losses that do not depend on
// it.
#include <limits>

#include "jit/built_in/linalg/cholesky.hpp"
#include "jit/built_in/linalg/eig.hpp"
#include "jit/built_in/linalg/eigh.hpp"
#include "jit/built_in/linalg/lu.hpp"
#include "jit/built_in/linalg/matrix_exp.hpp"
#include "jit/built_in/linalg/planes.hpp"
#include "jit/built_in/linalg/qr.hpp"
#include "jit/built_in/linalg/solve_triangular.hpp"
#include "jit/built_in/linalg/svd.hpp"
#include "lazy/autograd/call_rules.hpp"
#include "lazy/linalg/matrices.hpp"

namespace lazy::detail {
namespace {

using D = const Differentiation&;
namespace calls = jit::calls;

bool is_zero(const Handle& h) {
  return is_complex(h->dtype) ? is_zero(jit::real_plane(h)) && is_zero(jit::imaginary_plane(h))
                              : h->op == Op::constant && h->scalar.bits == 0;
}
/// True if nothing depends on the result whose gradient this is.
bool is_zero(const Term& g) { return is_zero(g.handle()); }

bool is_complex(const Term& t) { return lazy::is_complex(t.handle()->dtype); }

/// Gives a rule the whole numbers of a call of planes, and records what formulas of matrices are made of, the
/// last two axes of terms.
class Linear {
 public:
  Linear(D d, const char* function) : Linear(d, 0, function) {}
  explicit Linear(D d)
      : Linear(d, d.op.call().as<calls::MatrixAttributes>().flags & ~calls::kOfPlanes, d.op.call().name()) {}

  const uint32_t flags;  // of the call that is differentiated

  Term x(size_t operand) const { return d_.term(whole(operands_[operand], d_.op.operands)); }
  Term y(size_t result = 0) const { return d_.term(whole(results_[result], d_.results)); }
  /// Returns the gradient of a result: zeros if nothing depends on it.
  Term g(size_t result = 0) const {
    const Part& p = results_[result];
    if (!p.pair) return d_.g(p.place);
    return d_.term(jit::complex(d_.g(p.place).handle(), d_.g(p.place + 1).handle(), d_.site));
  }
  bool wants(size_t operand) const {
    const Part& p = operands_[operand];
    return d_.wants(p.place) || (p.pair && d_.wants(p.place + 1));
  }
  /// Adds `gradient()` to what the operand has so far; of a real one its real part. Not called for an operand
  /// that nobody wants.
  template <class F>
  void to(size_t operand, F&& gradient) const {
    if (!wants(operand)) return;
    const Part& p = operands_[operand];
    const Handle g = gradient().handle();
    d_.to(p.place, [&] { return d_.term(real_part(g)); });
    if (p.pair) d_.to(p.place + 1, [&] { return d_.term(imaginary_part(g, d_.site)); });
  }
  /// Adds `values` to zeros like the operand, at positions along an axis.
  Term added_at(size_t operand, const Term& values, const Handle& positions, int axis) const {
    const Part& p = operands_[operand];
    const auto plane = [&](int which) {
      const Handle h = which == 0 ? real_part(values.handle()) : imaginary_part(values.handle(), d_.site);
      return d_.added_at(p.place + static_cast<size_t>(which), d_.term(h), positions, axis);
    };
    if (!p.pair) return plane(0);
    return d_.term(jit::complex(plane(0).handle(), plane(1).handle(), d_.site));
  }

  [[noreturn]] void fail(const char* what) const { r_.fail<Error>(what); }
  Term product(const Term& a, const Term& b) const { return d_.term(r_.product(a.handle(), b.handle())); }
  Term transposed(const Term& a) const { return d_.term(r_.transposed(a.handle())); }
  Term conjugated(const Term& a) const { return d_.term(conjugate(a.handle(), d_.site)); }
  Term adjoint(const Term& a) const { return d_.term(r_.adjoint(a.handle())); }
  std::vector<Term> call(const jit::CallDefinition& c, uint32_t f,
                         std::initializer_list<const Handle*> operands) const {
    std::vector<Term> results;
    for (const Handle& h : r_.call(c, f, operands)) results.push_back(d_.term(h));
    return results;
  }
  /// Returns rows * inverse(a), where a is lower triangular, or by the flags upper or with ones on its
  /// diagonal.
  Term over(const Term& rows, const Term& a, uint32_t f) const {
    return call(calls::kSolveTriangular, f | calls::kTransposed, {&a.handle(), &rows.handle()})[0];
  }
  /// Returns rows * inverse(a^H).
  Term over_adjoint(const Term& rows, const Term& a, uint32_t f) const {
    const Term c = conjugated(a);
    return call(calls::kSolveTriangular, f, {&c.handle(), &rows.handle()})[0];
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
  /// Returns the Hermitian matrix of this lower triangle.
  Term mirrored(const Term& a) const {
    const Term whole = chosen(Op::greater_equal, a, adjoint(a));
    if (!is_complex(a)) return whole;
    const Planes p = planes_of(whole.handle());
    const Term im = d_.term(p.im);
    return d_.term(jit::complex(p.re, chosen(Op::not_equal, im, 0).handle(), d_.site));
  }
  /// Returns the number in the dtype of another term.
  Term like(const Term& number, const Term& other) const { return number.as(other.handle()->dtype); }
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
  /// Says where an operand or result is among those of the call, or its real part: the imaginary one is next.
  struct Part {
    size_t place;
    bool pair;
  };

  Linear(D d, uint32_t f, const char* function) : flags(f), d_(d), r_(function, d.site) {
    const bool planes = (d.op.call().as<calls::MatrixAttributes>().flags & calls::kOfPlanes) != 0;
    std::vector<jit::Meta> metas;
    for (size_t i = 0; i < d.op.operands.size(); ++i) {
      const Handle& h = d.op.operands[i];
      const bool pair = planes && is_float(h->dtype);
      operands_.push_back({i, pair});
      metas.push_back({pair ? complex_type(h->dtype) : h->dtype, h->shape});
      if (pair) ++i;
    }
    size_t place = 0;
    for (const jit::CallOutput& o : calls::infer_whole(d.op.call(), metas)) {
      results_.push_back({place, lazy::is_complex(o.meta.dtype)});
      place += results_.back().pair ? 2 : 1;
    }
  }
  Handle whole(const Part& p, std::span<const Handle> all) const {
    return p.pair ? jit::complex(all[p.place], all[p.place + 1], d_.site) : all[p.place];
  }

  D d_;
  const Matrices r_;
  std::vector<Part> operands_, results_;
};

/// Adds `gradient()` to what operand 0 has so far, unless it has no elements.
template <class F>
void to_matrix(const Linear& a, F&& gradient) {
  if (numel(a.x(0).shape()) > 0) a.to(0, std::forward<F>(gradient));
}

/// X X^H is the matrix: inverse(X)^H S inverse(X) / 2, where S is X^H G's lower triangle, mirrored.
void cholesky(D d) {
  const Linear a(d, "cholesky_inverse");
  to_matrix(a, [&] {
    const Term x = a.y(), s = a.mirrored(a.product(a.adjoint(x), a.g()));
    return a.over(a.adjoint(a.over(s, x, 0)), x, 0) * 0.5;
  });
}

/// A right-hand side's gradient is the solution, for G, with the adjoint; that of the matrix is minus its
/// outer product with X. Right-hand sides are rows.
void solved_by_triangle(D d) {
  const Linear a(d);
  const bool transposed = a.flags & calls::kTransposed, unit = a.flags & calls::kUnit;
  const uint32_t triangle = a.flags & ~calls::kTransposed;
  const Term m = a.x(0);
  const Term b = transposed ? a.over_adjoint(a.g(), m, triangle) : a.over(a.g(), a.conjugated(m), triangle);
  a.to(1, [&] { return b; });
  a.to(0, [&] {
    const Term x = a.conjugated(a.y());
    const Term all = transposed ? a.product(a.transposed(x), b) : a.product(a.transposed(b), x);
    if (a.flags & calls::kUpper) return a.chosen(unit ? Op::less : Op::less_equal, -all, 0);
    return a.chosen(unit ? Op::greater : Op::greater_equal, -all, 0);
  });
}

void solved(D d) {
  const Linear a(d);
  const Term m = a.adjoint(a.x(0)), g = a.g();
  const Term b = a.call(calls::kSolve, a.flags, {&m.handle(), &g.handle()})[0];
  a.to(1, [&] { return b; });
  a.to(0, [&] { return -a.product(a.transposed(b), a.conjugated(a.y())); });
}

/// Returns a square upper triangular factor in which a 0 on the diagonal is the smallest number: what is 0
/// divides to 0 by it, all else to infinity or nearly.
Term without_zeros(const Linear& a, const Term& u) {
  const double least = plane_type(u.handle()->dtype) == float32 ? double{std::numeric_limits<float>::min()}
                                                                : std::numeric_limits<double>::min();
  return where(a.compared(Op::equal, u) & (u == 0), least, u);
}

/// Returns the gradient of P^T x by those of its factors L (m, k) and U (k, n), in one matrix. M stands for
/// L^H G_L - G_U U^H; it is inverse(L)^H (G_U + lower(M) inverse(U)^H) for m <= n, else
/// (G_L - inverse(L)^H upper(M)) inverse(U)^H; where L or U is no square, its square part is inverted.
Term of_factors(const Linear& a, const Term& factors, const Term& g) {
  const int64_t m = g.extent(-2), n = g.extent(-1), k = std::min(m, n);
  const Term square = part(part(factors, -2, 0, k), -1, 0, k), pivots = without_zeros(a, square);
  const Term below = part(factors, -1, 0, k);
  const Term l = a.chosen(Op::greater, below, a.identity(below));
  const Term u = a.chosen(Op::less_equal, part(factors, -2, 0, k), 0);
  const Term gl = a.chosen(Op::greater, part(g, -1, 0, k), 0),
             gu = a.chosen(Op::less_equal, part(g, -2, 0, k), 0);
  const Term both = a.product(a.adjoint(l), gl) - a.product(gu, a.adjoint(u));
  // inverse(L)^H times something is the adjoint of that, adjoint, times inverse(L).
  const auto by_l = [&](const Term& t) { return a.adjoint(a.over(a.adjoint(t), square, calls::kUnit)); };
  if (m <= n) {
    const Term first = a.over_adjoint(a.chosen(Op::greater, both, 0), pivots, calls::kUpper);
    return by_l(a.with_block(gu, part(gu, -1, 0, k) + first, 0, 0));
  }
  const Term first = part(gl, -2, 0, k) - by_l(a.chosen(Op::less_equal, both, 0));
  return a.over_adjoint(a.with_block(gl, first, 0, 0), pivots, calls::kUpper);
}

/// The first output is the transpose of both factors; row i of their product is row order[i] of the matrix.
void factored(D d) {
  const Linear a(d);
  to_matrix(a, [&] {
    const Term g = of_factors(a, a.transposed(a.y(0)), a.transposed(a.g(0)));
    const Term order = a.y(2);
    const Handle rows = d.broadcast(reshape(order, extended(order.shape(), {1})).handle(), g.shape());
    return a.added_at(0, g, rows, g.rank() - 2);
  });
}

/// L U x = P^T b: with v = inverse(U)^H G and w = inverse(L)^H v the gradients are -v x^H of U, -w (U x)^H of
/// L, and P w of b. Right-hand sides are rows.
void solved_by_factors(D d) {
  const Linear a(d);
  const Term f = a.transposed(a.x(0)), x = a.y();
  if (numel(x.shape()) == 0) return;
  const Term c = a.conjugated(f);
  const Term v = a.over(a.g(), c, calls::kUpper), w = a.over(v, c, calls::kUnit);
  a.to(0, [&] {
    const Term ux = a.product(x, a.transposed(a.chosen(Op::less_equal, f, 0)));
    return a.transposed(-a.chosen(Op::greater, a.product(a.transposed(w), a.conjugated(ux)),
                                  a.product(a.transposed(v), a.conjugated(x))));
  });
  a.to(2, [&] {
    // Solving by the exchanges alone tells where the rows of P^T b are in b.
    const Term one = broadcast(a.identity(f), f.shape()), here = part(x, -2, 0, 1);
    const Term places = a.like(d.index(here.rank() - 1, here.shape(), here), f);
    const Term solved = a.call(calls::kLuSolve, 0, {&one.handle(), &a.x(1).handle(), &places.handle()})[0];
    const Term order = d.term(real_part(solved.handle())).as(int64);
    return a.added_at(2, w, d.broadcast(order.handle(), w.shape()), w.rank() - 1);
  });
}

/// (G_Q + Q S) inverse(R)^H, where S is the lower triangle of R G_R^H - G_Q^H Q, mirrored.
Term of_orthogonal(const Linear& a, const Term& q, const Term& r, const Term& gq, const Term& gr) {
  const Term s = a.mirrored(a.product(r, a.adjoint(gr)) - a.product(a.adjoint(gq), q));
  return a.over_adjoint(gq + a.product(q, s), r, calls::kUpper);
}

/// The columns beyond a square are Q times R's, and depend on the others by Q.
void orthogonal(D d) {
  const Linear a(d);
  to_matrix(a, [&] {
    Term x = a.x(0), q = a.y(0), r = a.y(1), gq = a.g(0), gr = a.g(1);
    const int64_t n = x.extent(-1), k = std::min(x.extent(-2), n), more = n - k;
    if (q.extent(-1) > n) {
      if (!is_zero(gq))
        a.fail("Q of the mode \"complete\" has no derivative where there are more rows than columns");
      // R alone has the derivative of the reduced Q.
      const std::vector<Term> reduced = a.call(calls::kQr, 0, {&x.handle()});
      q = reduced[0], r = reduced[1], gq = d.zeros_like(q), gr = part(gr, -2, 0, n);
    }
    if (more == 0) return of_orthogonal(a, q, r, gq, gr);
    const Term rest = part(gr, -1, k, more);
    gq = gq + a.product(part(x, -1, k, more), a.adjoint(rest));
    const Term first = of_orthogonal(a, q, part(r, -1, 0, k), gq, part(gr, -1, 0, k));
    return a.with_block(a.with_block(d.zeros_like(x), first, 0, 0), a.product(q, rest), 0, k);
  });
}

/// Returns (p - p^H) / e, and 0 on the diagonal.
Term skew(const Linear& a, const Term& p, const Term& e) {
  return a.chosen(Op::not_equal, (p - a.adjoint(p)) / e, 0);
}

/// U (diag(G_S) + skew(U^H G_U) S + S skew(V^H G_V)) V^H, and what of G_U and G_V is orthogonal to U and V.
/// Of complex numbers the diagonal has i im(U^H G_U) / S beside: U and V turn together.
Term of_singular(const Linear& a, const Term& u, const Term& s, const Term& vh, const Term& gu,
                 const Term& gs, const Term& gvh) {
  const Term along = a.row(s), down = a.column(s);
  const Term squares = a.chosen(Op::not_equal, (along - down) * (along + down), 1);
  Term inner = a.like(a.diagonal(gs), u);
  if (!is_zero(gu)) {
    const Term p = a.product(a.adjoint(u), gu);
    inner = inner + skew(a, p, squares) * along;
    if (is_complex(p)) inner = inner + a.chosen(Op::equal, (p - a.adjoint(p)) / (along * 2), 0);
  }
  if (!is_zero(gvh)) inner = inner + skew(a, a.product(vh, a.adjoint(gvh)), squares) * down;
  Term all = a.product(u, inner);
  if (!is_zero(gu) && u.extent(-2) > u.extent(-1)) {
    const Term scaled = gu / along;
    all = all + scaled - a.product(u, a.product(a.adjoint(u), scaled));
  }
  all = a.product(all, vh);
  if (is_zero(gvh) || vh.extent(-1) == vh.extent(-2)) return all;
  const Term scaled = gvh / down;
  return all + a.product(u, scaled - a.product(a.product(scaled, a.adjoint(vh)), vh));
}

void singular(D d) {
  const Linear a(d);
  to_matrix(a, [&] {
    if (a.flags & calls::kSingularValuesOnly) {
      const Term x = a.x(0);
      const std::vector<Term> all = a.call(calls::kSvd, 0, {&x.handle()});
      return a.product(all[0] * a.row(a.g()), all[2]);
    }
    const int64_t k = a.y(1).extent(-1);
    const auto columns = [&](const Term& t) { return part(t, -1, 0, k); };
    const auto rows = [&](const Term& t) { return part(t, -2, 0, k); };
    return of_singular(a, columns(a.y(0)), a.y(1), rows(a.y(2)), columns(a.g(0)), a.g(1), rows(a.g(2)));
  });
}

/// Returns e[i][j] = values[j] - values[i], and 1 on the diagonal.
Term differences(const Linear& a, const Term& values) {
  return a.chosen(Op::not_equal, a.row(values) - a.column(values), 1);
}

/// V (diag(G) + skew(V^H G_V) / 2) V^H. The call gives W, which is V^H.
void symmetric(D d) {
  const Linear a(d);
  to_matrix(a, [&] {
    if (a.flags & calls::kValuesOnly) {
      const Term x = a.x(0);
      const std::vector<Term> all = a.call(calls::kEigh, a.flags & ~calls::kValuesOnly, {&x.handle()});
      return a.product(a.adjoint(all[1]), all[1] * a.column(a.g()));
    }
    const Term w = a.y(1);
    Term inner = a.like(a.diagonal(a.g(0)), w);
    if (!is_zero(a.g(1)))
      inner = inner + skew(a, a.product(w, a.adjoint(a.g(1))), differences(a, a.y(0))) * 0.5;
    return a.product(a.adjoint(w), a.product(inner, w));
  });
}

/// inverse(V)^H (diag(G) + (C - V^H V diag(re C)) / conj(e)) V^H, with C = V^H G_V: vectors have length 1.
/// The call gives W, the transpose of V.
void general(D d) {
  const Linear a(d);
  to_matrix(a, [&] {
    const bool values_only = a.flags & calls::kEigenvaluesOnly;
    const Term x = a.x(0);
    const std::vector<Term> all =
        values_only ? a.call(calls::kEig, 0, {&x.handle()}) : std::vector<Term>{a.y(0), a.y(1)};
    const Term w = a.conjugated(all[1]);  // V^H
    Term inner = a.diagonal(a.g(0));
    if (!values_only && !is_zero(a.g(1))) {
      const Term c = a.product(w, a.transposed(a.g(1)));
      const Term re = d.term(real_part(c.handle()));
      const Term lengths = sum(a.chosen(Op::equal, re, 0), {c.rank() - 2});
      const Term change = c - a.product(w, a.adjoint(w)) * lengths;
      inner = inner + a.chosen(Op::not_equal, change / a.conjugated(differences(a, all[0])), 0);
    }
    const Term rows = a.transposed(a.product(inner, w));
    return a.transposed(a.call(calls::kSolve, 0, {&w.handle(), &rows.handle()})[0]);
  });
}

/// The upper right block of the exponential of [A^H G; 0 A^H].
void exponential(D d) {
  const Linear a(d);
  to_matrix(a, [&] {
    const Term x = a.adjoint(a.x(0));
    const int64_t n = x.extent(-1);
    const Term zeros =
        d.term(d.filled(0, x.handle()->dtype, extended(leading(x.shape(), 2), {2 * n, 2 * n}), x.handle()));
    const Term both = a.with_block(a.with_block(a.with_block(zeros, x, 0, 0), x, n, n), a.g(), 0, n);
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
