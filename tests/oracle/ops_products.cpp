// Rows of products: lazy/ops/matmul.hpp, einsum.hpp, diagonals.hpp, linear layers and attention.
#include "tests/oracle/rows.hpp"

namespace oracle {
namespace {

Tensor summed(const std::string& subscripts, const std::vector<Tensor>& x) {
  switch (x.size()) {
    case 1: return einsum(subscripts, x[0]);
    case 2: return einsum(subscripts, x[0], x[1]);
    case 3: return einsum(subscripts, x[0], x[1], x[2]);
  }
  throw BadCase("einsum takes 1 to 3 tensors here");
}

const Row kRows[] = {
    ROW("matmul", "x 2,3\tx 3,4", ARG(a); ARG(b); return matmul(a, b, g.dtype())),
    ROW("dot", "x 3\tx 3", ARG(a); ARG(b); return dot(a, b)),
    ROW("outer", "x 2\tx 3", ARG(a); ARG(b); return outer(a, b)),
    ROW("inner", "x 2,3\tx 4,3", ARG(a); ARG(b); return inner(a, b)),
    ROW("vecdot", "x 2,3\tx 2,3", ARG(a); ARG(b); INT(axis, -1); return vecdot(a, b, axis)),
    ROW("kron", "x 2,2\tx 2,3", ARG(a); ARG(b); return kron(a, b)),
    ROW("cross", "x 2,3\tx 2,3", ARG(a); ARG(b); INT(axis, -1); return cross(a, b, axis)),
    ROW("einsum", "S ij,jk->ik\tX 2\tx 2,3\tx 3,4", TEXT(s, ""); TENSORS(x); return summed(s, x)),
    ROW("tensordot", "x 2,3\tx 3,4\tI 1", ARG(a); ARG(b); INT(n, 2); return tensordot(a, b, n)),
    ROW("tensordot/axes", "x 2,3\tx 4,3\tL 1\tL 1", ARG(a); ARG(b); AXES(i); AXES(j);
        return tensordot(a, b, i, j)),
    ROW("linear", "x 2,3\tx 4,3\tx 4", ARG(x); ARG(w); TENSOR(b); return linear(x, w, b)),
    ROW("bilinear", "x 2,3\tx 2,4\tx 5,3,4\tx 5", ARG(a); ARG(b); ARG(w); TENSOR(bias);
        return bilinear(a, b, w, bias)),
    ROW("scaled_dot_product_attention", "x 2,4,3\tx 2,5,3\tx 2,5,3", ARG(q); ARG(k); ARG(v); TENSOR(mask);
        FLAG(causal, false); std::optional<double> scale; if (g.more()) scale = g.real(); else g.flag();
        return scaled_dot_product_attention(q, k, v, mask, causal, scale)),
    ROW("ragged", "X 2\tx 2,3\tx 4,3", TENSORS(x); return ragged(x).values),
    ROW("rotary_embedding", "x 2,4,6\tx 4", ARG(x); ARG(places); return rotary_embedding(x, places)),
    ROW("alibi", "I 4\tI 3\tI 5", INT(heads, 1); INT(l, 1); INT(s, 1); return alibi(heads, l, s)),
    ROW("alibi_slopes", "I 6", INT(heads, 1); return alibi_slopes(heads)),
    ROW("window_mask", "I 3\tI 5\tI 2", INT(l, 1); INT(s, 1); INT(w, 1); return window_mask(l, s, w)),
};

}  // namespace

std::span<const Row> product_rows() { return kRows; }

}  // namespace oracle
