// Rows of reading, writing, finding and searching at computed places: lazy/indexing/.
#include "tests/oracle/rows.hpp"

namespace oracle {
namespace {

const Row kRows[] = {
    ROW("take", "x 3,2\ti 4\tI 0", ARG(x); ARG(i); INT(a, 0); return take(x, i, a, g.bounds())),
    ROW("take_along_axis", "x 3,2\ti 4,2\tI 0", ARG(x); ARG(i); INT(a, 0);
        return take_along_axis(x, i, a, g.bounds())),
    ROW("put_along_axis", "x 3,2\ti 4,2\tx 4,2\tI 0", ARG(x); ARG(i); ARG(v); INT(a, 0);
        const Combine c = g.combine(); return put_along_axis(x, i, v, a, c, g.bounds())),
    ROW("scatter", "x 3,2\tI 0\ti 4,2\tx 4,2", ARG(x); INT(a, 0); ARG(i); ARG(v);
        const Combine c = g.combine(); return scatter(x, a, i, v, c, g.bounds())),
    ROW("scatter_add", "x 3,2\tI 0\ti 4,2\tx 4,2", ARG(x); INT(a, 0); ARG(i); ARG(v);
        return scatter_add(x, a, i, v, g.bounds())),
    ROW("index_add", "x 3,2\tI 0\ti 4\tx 4,2", ARG(x); INT(a, 0); ARG(i); ARG(v);
        return index_add(x, a, i, v, g.bounds())),
    ROW("masked_fill", "x 2,3\tb 2,3\tI 2", ARG(x); ARG(m); ARG(v); return masked_fill(x, m, v)),
    ROW("masked_select", "x 2,3\tb 2,3", ARG(x); ARG(m); return masked_select(x, m)),
    ROW("index_select", "x 3,2\tI 0\ti 4", ARG(x); INT(a, 0); ARG(i);
        return index_select(x, a, i, g.bounds())),
    ROW("gather", "x 3,2\tI 0\ti 4,2", ARG(x); INT(a, 0); ARG(i); return gather(x, a, i, g.bounds())),
    ROW("take_or", "x 3,2\ti 4\tI 0\tI 1", ARG(x); ARG(i); INT(a, 0); NUMBER(v, 0);
        return take_or(x, i, a, v)),
    UNARY(nonzero),
    UNARY(argwhere),
    UNARY(flatnonzero),
    UNARY(unique),
    ROW("unique_counts", "x 2,3", ARG(x); const UniqueCounts u = unique_counts(x);
        return {u.values, u.counts}),
    ROW("unique_inverse", "x 2,3", ARG(x); const UniqueInverse u = unique_inverse(x);
        return {u.values, u.inverse}),
    ROW("searchsorted", "x 4\tx 2,3", ARG(s); ARG(v); FLAG(right, false); return searchsorted(s, v, right)),
    ROW("digitize", "x 2,3\tx 4", ARG(v); ARG(e); FLAG(right, false); return digitize(v, e, right)),
    ROW("bucketize", "x 2,3\tx 4", ARG(v); ARG(e); FLAG(right, false); return bucketize(v, e, right)),
    ROW("interp", "x 2,3\tx 4\tx 4", ARG(x); ARG(xp); ARG(fp); return interp(x, xp, fp)),
    ROW("bincount", "i 5", ARG(x); INT(n, 0); return bincount(x, n)),
    ROW("bincount/weights", "i 5\tx 5", ARG(x); TENSOR(w); INT(n, 0); return bincount(x, w, n)),
    ROW(
        "histogram", "x 7\tI 4", ARG(x); INT(n, 10); if (g.more()) {
          REAL(low, 0);
          REAL(high, 0);
          const Histogram h = histogram(x, n, low, high);
          return {h.counts, h.edges};
        } const Histogram h = histogram(x, n);
        return {h.counts, h.edges}),
};

}  // namespace

std::span<const Row> indexing_rows() { return kRows; }

}  // namespace oracle
