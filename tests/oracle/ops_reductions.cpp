// Rows of reductions, running reductions, sorting and order: lazy/ops/reductions.hpp, statistics.hpp,
// sorting.hpp, ordering.hpp.
#include "tests/oracle/rows.hpp"

namespace oracle {
namespace {

#define REDUCTION(f) ROW(#f, "x 3,4\tL 1", ARG(x); AXES(a); KEEP(k); return f(std::move(x), a, k))
#define SUM(f) ROW(#f, "x 3,4\tL 1", ARG(x); AXES(a); KEEP(k); DTYPE(t); return f(std::move(x), a, k, t))
#define SPREAD(f) ROW(#f, "x 3,4\tL 1", ARG(x); AXES(a); KEEP(k); REAL(c, 0); return f(std::move(x), a, k, c))
#define RUNNING(f) ROW(#f, "x 3,4\tL 1", ARG(x); AXES(a); return f(std::move(x), a))
#define RUNNING_SUM(f) ROW(#f, "x 3,4\tL 1", ARG(x); AXES(a); DTYPE(t); return f(std::move(x), a, t))
#define INITIAL(f) \
  ROW(#f, "x 3,4\tL 1", ARG(x); AXES(a); DTYPE(t); FLAG(first, false); return f(std::move(x), a, t, first))
#define QUANTILE(f, at)                                        \
  ROW(                                                         \
      #f, "x 3,4\t" at "\tL 1", ARG(x); if (g.kind() == 'R') { \
        REALS(q);                                              \
        AXES(a);                                               \
        return f(std::move(x), q, a, g.keep());                \
      } REAL(q, 0);                                            \
      AXES(a); KEEP(k); return f(std::move(x), q, a, k))

Results both(const Sorted& s) { return {s.values, s.indices}; }

const Row kRows[] = {
    SUM(sum),
    SUM(prod),
    SUM(nansum),
    SUM(nanprod),
    REDUCTION(mean),
    SPREAD(var),
    SPREAD(stdev),
    ROW("std", "x 3,4\tL 1", ARG(x); AXES(a); KEEP(k); REAL(c, 0); return lazy::std(std::move(x), a, k, c)),
    REDUCTION(max),
    REDUCTION(min),
    REDUCTION(any),
    REDUCTION(all),
    REDUCTION(argmax),
    REDUCTION(argmin),
    REDUCTION(logsumexp),
    REDUCTION(count_nonzero),
    REDUCTION(nanmax),
    REDUCTION(nanmin),
    REDUCTION(nanmean),
    SPREAD(nanvar),
    SPREAD(nanstd),
    REDUCTION(ptp),
    REDUCTION(median),
    RUNNING_SUM(cumsum),
    INITIAL(cumulative_sum),
    INITIAL(cumulative_prod),
    RUNNING_SUM(cumprod),
    ROW("cummax", "x 3,4\tL 1", ARG(x); AXES(a); return both(cummax(x, a))),
    ROW("cummin", "x 3,4\tL 1", ARG(x); AXES(a); return both(cummin(x, a))),
    RUNNING(logcumsumexp),
    ROW("max/two", "x 2,3\tx 3", ARG(a); TENSOR(b); return max(a, b)),
    ROW("min/two", "x 2,3\tx 3", ARG(a); TENSOR(b); return min(a, b)),
    ROW("average", "x 3,4\tx 4\tL 1", ARG(x); ARG(w); AXES(a); KEEP(k); return average(x, w, a, k)),
    ROW("vector_norm", "x 3,4\tF 2\tL 1", ARG(x); REAL(p, 2); AXES(a); KEEP(k);
        return vector_norm(x, p, a, k)),
    ROW("norm", "x 3,4\tF 2\tL 1", ARG(x); REAL(p, 2); AXES(a); KEEP(k); return norm(x, p, a, k)),
    ROW("cov", "x 3,4", ARG(x); REAL(c, 1); return cov(x, c)),
    UNARY(corrcoef),
    ROW("trapezoid", "x 3,4", ARG(y); REAL(dx, 1); INT(a, -1); return trapezoid(y, dx, a)),
    ROW("trapezoid/points", "x 3,4\tx 4", ARG(y); TENSOR(x); INT(a, -1); return trapezoid(y, x, a)),
    ROW("isclose", "x 2,3\tx 3", ARG(a); ARG(b); REAL(r, 1e-5); REAL(s, 1e-8); FLAG(nan, false);
        return isclose(a, b, r, s, nan)),
    ROW("allclose", "x 2,3\tx 3", ARG(a); ARG(b); REAL(r, 1e-5); REAL(s, 1e-8); FLAG(nan, false);
        return allclose(a, b, r, s, nan)),
    ROW("array_equal", "x 2,3\tx 2,3", ARG(a); ARG(b); FLAG(nan, false); return array_equal(a, b, nan)),
    ROW("nan_to_num", "x 2,3", ARG(x); REAL(nan, 0); std::optional<double> high, low;
        if (g.more()) high = g.real(); else g.flag(); if (g.more()) low = g.real(); else g.flag();
        return nan_to_num(x, nan, high, low)),
    ROW("sort", "x 3,4", ARG(x); INT(a, -1); FLAG(down, false); FLAG(stable, false);
        return both(sort(x, a, down, stable))),
    ROW("argsort", "x 3,4", ARG(x); INT(a, -1); FLAG(down, false); FLAG(stable, false);
        return argsort(x, a, down, stable)),
    ROW("topk", "x 3,4\tI 2", ARG(x); INT(k, 1); INT(a, -1); FLAG(largest, true); FLAG(sorted, true);
        return both(topk(x, k, a, largest, sorted))),
    ROW("max_with_indices", "x 3,4\tI 1", ARG(x); INT(a, 0); KEEP(k); return both(max_with_indices(x, a, k))),
    ROW("min_with_indices", "x 3,4\tI 1", ARG(x); INT(a, 0); KEEP(k); return both(min_with_indices(x, a, k))),
    ROW("kthvalue", "x 3,4\tI 2", ARG(x); INT(n, 1); INT(a, -1); KEEP(k); return both(kthvalue(x, n, a, k))),
    QUANTILE(nanquantile, "F 0x1p-2"),
    QUANTILE(nanpercentile, "F 30"),
    REDUCTION(nanmedian),
    ROW("mode", "x 3,4", ARG(x); INT(a, -1); KEEP(k); return both(mode(x, a, k))),
    QUANTILE(quantile, "F 0x1p-2"),
    QUANTILE(percentile, "F 30"),
};

}  // namespace

std::span<const Row> reduction_rows() { return kRows; }

}  // namespace oracle
