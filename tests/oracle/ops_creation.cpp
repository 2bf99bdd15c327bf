// Rows of functions that make tensors and diagonals: lazy/ops/creation.hpp and diagonals.hpp.
#include "tests/oracle/rows.hpp"

namespace oracle {
namespace {

#define FILLED(f) ROW(#f, "L 2,3", SHAPE(s); DTYPE(t); return f(s, t))
#define LIKE(f) ROW(#f, "x 2,3", ARG(x); DTYPE(t); return f(std::move(x), t))

std::vector<Tensor> grids(const std::vector<Tensor>& x, const std::string& indexing) {
  switch (x.size()) {
    case 1: return meshgrid({x[0]}, indexing);
    case 2: return meshgrid({x[0], x[1]}, indexing);
    case 3: return meshgrid({x[0], x[1], x[2]}, indexing);
  }
  throw BadCase("meshgrid takes 1 to 3 tensors here");
}

const Row kRows[] = {
    FILLED(zeros),
    FILLED(ones),
    FILLED(empty),
    LIKE(zeros_like),
    LIKE(ones_like),
    LIKE(empty_like),
    ROW("full", "L 2,3\tI 2", SHAPE(s); NUMBER(v, 0); DTYPE(t); return full(s, v, t)),
    ROW("full_like", "x 2,3\tI 2", ARG(x); NUMBER(v, 0); DTYPE(t); return full_like(x, v, t)),
    ROW(
        "arange", "I 1\tI 9\tI 2", NUMBER(a, 0); if (!g.more()) {
          g.flag();
          g.flag();
          return arange(a, g.dtype());
        } NUMBER(b, 0);
        NUMBER(step, 1); DTYPE(t); return arange(a, b, step, t)),
    ROW("linspace", "I 0\tI 1\tI 5", NUMBER(a, 0); NUMBER(b, 0); INT(n, 0); FLAG(end, true); DTYPE(t);
        return linspace(a, b, n, end, t)),
    ROW("eye", "I 2\tI 3\tI 1", INT(n, 0); INT(m, -1); INT(k, 0); DTYPE(t); return eye(n, m, k, t)),
    ROW("identity", "I 3", INT(n, 0); DTYPE(t); return identity(n, t)),
    ROW("tri", "I 2\tI 3\tI 1", INT(n, 0); INT(m, -1); INT(k, 0); DTYPE(t); return tri(n, m, k, t)),
    ROW("tril", "x 3,4\tI 1", ARG(x); INT(k, 0); return tril(x, k)),
    ROW("triu", "x 3,4\tI 1", ARG(x); INT(k, 0); return triu(x, k)),
    ROW("meshgrid", "X 2\tx 2\tx 3", TENSORS(x); TEXT(indexing, "xy"); return grids(x, indexing)),
    ROW("asarray", "x 2,3", ARG(x); DTYPE(t); return asarray(x, t)),
    ROW("diagonal", "x 3,4\tI 1", ARG(x); INT(k, 0); INT(a, 0); INT(b, 1); return diagonal(x, k, a, b)),
    ROW("trace", "x 3,4\tI 1", ARG(x); INT(k, 0); INT(a, 0); INT(b, 1); DTYPE(t);
        return trace(x, k, a, b, t)),
    ROW("diag", "x 3\tI 1", ARG(x); INT(k, 0); return diag(x, k)),
    ROW("diag_embed", "x 2,3\tI 1", ARG(x); INT(k, 0); INT(a, -2); INT(b, -1); return diag_embed(x, k, a, b)),
    ROW("vander", "x 3", ARG(x); INT(n, -1); FLAG(up, false); return vander(x, n, up)),
};

}  // namespace

std::span<const Row> creation_rows() { return kRows; }

}  // namespace oracle
