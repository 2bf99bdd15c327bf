// Rows of lazy/linalg/.
#include "tests/oracle/rows.hpp"

namespace oracle {
namespace {

/// Takes an optional number.
std::optional<double> maybe(Given& g) {
  if (g.more()) return g.real();
  g.flag();
  return {};
}

/// Takes a norm: a name, or a number.
NormOrder norm_order(Given& g, std::string& name) {
  if (g.kind() == 'F' || g.kind() == 'N') return NormOrder(g.real(2));
  name = g.text();
  return NormOrder(name.c_str());
}

char triangle(Given& g) { return g.text("L")[0]; }

const Row kRows[] = {
    ROW("solve", "p 3\tx 3,2", ARG(a); ARG(b); return solve(a, b)),
    ROW("solve_triangular", "p 3\tx 3,2\tO 1", ARG(a); ARG(b); FLAG(upper, false); FLAG(left, true);
        FLAG(ones, false); return solve_triangular(a, b, upper, left, ones)),
    ROW("inv", "p 3", ARG(x); return inv(x)),
    ROW("det", "p 3", ARG(x); return det(x)),
    ROW("slogdet", "p 3", ARG(x); const SlogDet r = slogdet(x); return {r.sign, r.logabsdet}),
    ROW("lu", "p 3", ARG(x); const LU r = lu(x); return {r.P, r.L, r.U}),
    ROW("lu_factor", "p 3", ARG(x); const LUFactors r = lu_factor(x); return {r.LU, r.pivots}),
    ROW("lu_solve", "p 3\tx 3,2", ARG(x); ARG(b); const LUFactors f = lu_factor(x);
        return lu_solve(f.LU, f.pivots, b)),
    ROW("cholesky", "p 3", ARG(x); FLAG(upper, false); return cholesky(x, upper)),
    ROW("cholesky_solve", "x 3,2\tp 3", ARG(b); ARG(l); FLAG(upper, false);
        return cholesky_solve(b, l, upper)),
    ROW("cholesky_inverse", "p 3", ARG(l); FLAG(upper, false); return cholesky_inverse(l, upper)),
    ROW("lstsq", "p 3\tx 3,2", ARG(a); ARG(b); const LeastSquares r = lstsq(a, b, maybe(g));
        return {r.solution, r.residuals, r.rank, r.singular_values}),
    ROW("pinv", "p 3", ARG(x); const std::optional<double> rtol = maybe(g); FLAG(symmetric, false);
        return pinv(x, rtol, symmetric)),
    ROW("tensorsolve", "p 3\tx 3", ARG(a); ARG(b); return tensorsolve(a, b)),
    ROW("tensorinv", "p 3\tI 1", ARG(x); INT(n, 2); return tensorinv(x, n)),
    ROW("qr", "p 3", ARG(x); const QR r = qr(x, g.text("reduced")); return {r.Q, r.R}),
    ROW("svd", "p 3", ARG(x); const SVD r = svd(x, g.flag(true)); return {r.U, r.S, r.Vh}),
    ROW("svdvals", "p 3", ARG(x); return svdvals(x)),
    ROW("eigh", "p 3", ARG(x); const Eigh r = eigh(x, triangle(g)); return {r.eigenvalues, r.eigenvectors}),
    ROW("eigvalsh", "p 3", ARG(x); return eigvalsh(x, triangle(g))),
    ROW("eig", "p 3", ARG(x); const Eig r = eig(x); return {r.eigenvalues, r.eigenvectors}),
    ROW("eigvals", "p 3", ARG(x); return eigvals(x)),
    ROW("matrix_norm", "x 2,3\tS fro", ARG(x); std::string name; const NormOrder p = norm_order(g, name);
        const Axes a = g.axes({-2, -1}); KEEP(k); return matrix_norm(x, p, a, k)),
    ROW("cond", "p 3", ARG(x); std::string name; return cond(x, norm_order(g, name))),
    ROW("matrix_rank", "p 3", ARG(x); const std::optional<double> rtol = maybe(g); FLAG(symmetric, false);
        REAL(atol, 0); return matrix_rank(x, rtol, symmetric, atol)),
    ROW("matrix_power", "p 3\tI 3", ARG(x); INT(n, 1); return matrix_power(x, n)),
    ROW("matrix_exp", "p 3", ARG(x); return matrix_exp(x)),
    ROW("expm", "p 3", ARG(x); return expm(x)),
    ROW("multi_dot", "X 3\tx 2,3\tx 3,4\tx 4,2", TENSORS(x); return multi_dot(x)),
};

}  // namespace

std::span<const Row> linalg_rows() { return kRows; }

}  // namespace oracle
