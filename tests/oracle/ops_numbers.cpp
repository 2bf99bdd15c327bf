// Rows of lazy/ops/numbers.hpp, products.hpp, summaries.hpp and grids.hpp.
#include "tests/oracle/rows.hpp"

namespace oracle {
namespace {

#define REDUCTION(f) ROW(#f, "x 3,4\tL 1", ARG(x); AXES(a); KEEP(k); return f(std::move(x), a, k))
#define ADDED(f, sample) \
  ROW(#f, sample, ARG(x); ARG(a); ARG(b); NUMBER(beta, 1); NUMBER(alpha, 1); return f(x, a, b, beta, alpha))
#define NEW(f) ROW(#f, "x 2,3\tL 4", ARG(x); SHAPE(s); DTYPE(t); return f(x, s, t))

const Row kRows[] = {
    ROW("div", "x 2,3\tx 3", ARG(a); ARG(b); return div(a, b, g.text(""))),
    ROW("divmod", "x 2,3\tx 3", ARG(a); ARG(b); const DivMod r = divmod(a, b);
        return {r.quotient, r.remainder}),
    ROW("rsub", "x 2,3\tx 3", ARG(a); ARG(b); NUMBER(alpha, 1); return rsub(a, b, alpha)),
    BINARY(gcd),
    BINARY(lcm),
    BINARY(float_power),
    UNARY(frac),
    BINARY(nextafter),
    UNARY(spacing),
    UNARY(isposinf),
    UNARY(isneginf),
    ROW("modf", "x 2,3", ARG(x); const Modf r = modf(x); return {r.fractional, r.integral}),
    ROW("frexp", "x 2,3", ARG(x); const Frexp r = frexp(x); return {r.mantissa, r.exponent}),
    ROW("ldexp", "x 2,3\ti 3", ARG(x); ARG(n); return ldexp(x, n)),

    UNARY(i0e),
    UNARY(i1),
    UNARY(i1e),
    UNARY(erfcx),
    UNARY(ndtr),
    UNARY(log_ndtr),
    UNARY(ndtri),
    UNARY(entr),
    UNARY(gammaln),
    UNARY(psi),
    BINARY(zeta),
    ROW("polygamma", "I 1\tx 2,3", INT(n, 0); ARG(x); return polygamma(n, x)),
    ROW("mvlgamma", "x 2,3\tI 2", ARG(x); INT(p, 1); return mvlgamma(x, p)),
    ROW("multigammaln", "x 2,3\tI 2", ARG(x); INT(p, 1); return multigammaln(x, p)),

    ROW("mm", "x 2,3\tx 3,4", ARG(a); ARG(b); return mm(a, b)),
    ROW("mv", "x 2,3\tx 3", ARG(a); ARG(b); return mv(a, b)),
    ROW("bmm", "x 2,2,3\tx 2,3,4", ARG(a); ARG(b); return bmm(a, b)),
    ADDED(addmm, "x 4\tx 2,3\tx 3,4"),
    ADDED(addmv, "x 2\tx 2,3\tx 3"),
    ADDED(addr, "x 3\tx 2\tx 3"),
    ADDED(addbmm, "x 4\tx 2,2,3\tx 2,3,4"),
    ADDED(baddbmm, "x 4\tx 2,2,3\tx 2,3,4"),
    ROW("convolve", "x 5\tx 3", ARG(a); ARG(b); return convolve(a, b, g.text("full"))),
    ROW("correlate", "x 5\tx 3", ARG(a); ARG(b); return correlate(a, b, g.text("valid"))),
    ROW("polyval", "x 3\tx 2,3", ARG(p); ARG(x); return polyval(p, x)),

    ROW("var_mean", "x 3,4\tL 1", ARG(x); AXES(a); KEEP(k); REAL(c, 0);
        const VarMean r = var_mean(x, a, k, c); return {r.var, r.mean}),
    ROW("std_mean", "x 3,4\tL 1", ARG(x); AXES(a); KEEP(k); REAL(c, 0);
        const StdMean r = std_mean(x, a, k, c); return {r.std, r.mean}),
    ROW("aminmax", "x 3,4\tL 1", ARG(x); AXES(a); KEEP(k); const MinMax r = aminmax(x, a, k);
        return {r.min, r.max}),
    REDUCTION(amax),
    REDUCTION(amin),
    REDUCTION(nanargmax),
    REDUCTION(nanargmin),
    ROW("nancumsum", "x 3,4\tL 1", ARG(x); AXES(a); return nancumsum(x, a)),
    ROW("nancumprod", "x 3,4\tL 1", ARG(x); AXES(a); return nancumprod(x, a)),
    ROW("dist", "x 2,3\tx 3", ARG(a); ARG(b); REAL(p, 2); return dist(a, b, p)),
    ROW("renorm", "x 2,3\tF 2\tI 0\tF 1", ARG(x); REAL(p, 2); INT(a, 0); REAL(most, 1);
        return renorm(x, p, a, most)),
    ROW("ediff1d", "x 2,3", ARG(x); TENSOR(end); TENSOR(begin); return ediff1d(x, end, begin)),
    ROW("gradient", "x 3,4", ARG(x); REALS(by); AXES(a); INT(order, 1); return gradient(x, by, a, order)),
    ROW("gradient/points", "x 3,4\tf 4\tI 1", ARG(x); TENSOR(p); INT(a, 0); INT(order, 1);
        return gradient(x, cumsum(p* p, 0), a, order)),
    ROW("cumulative_trapezoid", "x 3,4", ARG(y); REAL(dx, 1); INT(a, -1);
        return cumulative_trapezoid(y, dx, a)),
    ROW("cumulative_trapezoid/points", "x 3,4\tx 4", ARG(y); TENSOR(x); INT(a, -1);
        return cumulative_trapezoid(y, x, a)),
    ROW("trapz", "x 3,4", ARG(y); REAL(dx, 1); INT(a, -1); return trapz(y, dx, a)),

    ROW("logspace", "I 0\tI 2\tI 5", NUMBER(a, 0); NUMBER(b, 0); INT(n, 50); FLAG(end, true); REAL(base, 10);
        DTYPE(t); return logspace(a, b, n, end, base, t)),
    ROW("geomspace", "I 1\tI 8\tI 4", NUMBER(a, 0); NUMBER(b, 0); INT(n, 50); FLAG(end, true); DTYPE(t);
        return geomspace(a, b, n, end, t)),
    ROW("indices", "L 2,3", SHAPE(s); DTYPE(t); return indices(s, t)),
    ROW("tril_indices", "I 3\tI 4\tI 1", INT(n, 0); INT(m, -1); INT(k, 0); return tril_indices(n, m, k)),
    ROW("triu_indices", "I 3\tI 4\tI 1", INT(n, 0); INT(m, -1); INT(k, 0); return triu_indices(n, m, k)),
    ROW("cartesian_prod", "X 2\tx 2\tx 3", TENSORS(x); return cartesian_prod(x)),
    ROW("combinations", "x 4\tI 2", ARG(x); INT(n, 2); FLAG(again, false); return combinations(x, n, again)),
    ROW("block_diag", "X 2\tx 2,3\tx 1,2", TENSORS(x); return block_diag(x)),
    NEW(new_zeros),
    NEW(new_ones),
    NEW(new_empty),
    ROW("new_full", "x 2,3\tL 4\tI 2", ARG(x); SHAPE(s); NUMBER(v, 0); DTYPE(t); return new_full(x, s, v, t)),
};

}  // namespace

std::span<const Row> number_rows() { return kRows; }

}  // namespace oracle
