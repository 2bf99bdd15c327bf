// Rows of reading, writing, finding and searching at computed places: lazy/indexing/.
#include "tests/oracle/rows.hpp"

namespace oracle {
namespace {

/// Writes the elements that an index of one tensor selects.
Results written(Given& g) {
  ARG(x);
  const Tensor i = g.tensor();
  ARG(v);
  return index_put(x, std::vector<Index>{Index(i)}, v, g.flag(false));
}

const Row kRows[] = {
    ROW("take/flat", "x 3,2\ti 4", ARG(x); ARG(i); return take(x, i, g.bounds())),
    ROW("select", "x 3,2\tI 1\tI 0", ARG(x); INT(a, 0); INT(i, 0); return select(x, a, i)),
    ROW("choose", "i 3\tX 2\tx 3\tx 2,3", ARG(i); TENSORS(x); return choose(i, x, g.bounds())),
    ROW("compress", "b 3\tx 3,2\tI 0", ARG(c); ARG(x); if (!g.more()) return compress(c, x); INT(a, 0);
        return compress(c, x, a)),
    ROW("extract", "b 2,3\tx 2,3", ARG(c); ARG(x); return extract(c, x)),
    ROW("ravel_multi_index", "X 2\ti 4\ti 4\tL 3,2", TENSORS(i); SHAPE(s); return ravel_multi_index(i, s)),
    ROW("unravel_index", "i 4\tL 3,2", ARG(i); SHAPE(s); return unravel_index(i, s)),
    ROW("put", "x 3,2\ti 4\tx 4", ARG(x); ARG(i); ARG(v); FLAG(add, false);
        return put(x, i, v, add, g.bounds())),
    ROW("index_put", "x 3,2\ti 4\tx 4,2", return written(g)),
    ROW("index_copy", "x 3,2\tI 0\ti 4\tx 4,2", ARG(x); INT(a, 0); ARG(i); ARG(v);
        return index_copy(x, a, i, v, g.bounds())),
    ROW("index_fill", "x 3,2\tI 0\ti 4\tx -", ARG(x); INT(a, 0); ARG(i); ARG(v);
        return index_fill(x, a, i, v, g.bounds())),
    ROW("masked_scatter", "x 2,3\tb 2,3\tx 6", ARG(x); ARG(m); ARG(v); return masked_scatter(x, m, v)),
    ROW("select_scatter", "x 3,2\tx 2\tI 0\tI 1", ARG(x); ARG(v); INT(a, 0); INT(i, 0);
        return select_scatter(x, v, a, i)),
    ROW("slice_scatter", "x 3,2\tx 2,2\tI 0\tI 1\tI 3", ARG(x); ARG(v); INT(a, 0); INT(start, 0);
        INT(stop, 0); INT(step, 1); return slice_scatter(x, v, a, start, stop, step)),
    ROW("diagonal_scatter", "x 3,3\tx 3", ARG(x); ARG(v); INT(k, 0); return diagonal_scatter(x, v, k)),
    ROW("scatter_reduce", "x 3,2\tI 0\ti 4,2\tx 4,2\tS sum", ARG(x); INT(a, 0); ARG(i); ARG(v);
        TEXT(how, "sum"); FLAG(self, true); return scatter_reduce(x, a, i, v, how.c_str(), self)),
    UNARY(unique_values),
    ROW("unique_all", "x 2,3", ARG(x); const UniqueAll u = unique_all(x);
        return {u.values, u.indices, u.inverse, u.counts}),
    ROW("isin", "x 2,3\tx 4", ARG(x); ARG(among); FLAG(invert, false); return isin(x, among, invert)),
    BINARY(setdiff1d),
    BINARY(intersect1d),
    BINARY(union1d),
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
          const HistogramResult h = histogram(x, n, low, high);
          return {h.counts, h.edges};
        } const HistogramResult h = histogram(x, n);
        return {h.counts, h.edges}),
};

}  // namespace

std::span<const Row> indexing_rows() { return kRows; }

}  // namespace oracle
