// Rows of views, parts, joins, repetitions and pads: lazy/ops/views.hpp, rearranging.hpp and joining.hpp.
#include "tests/oracle/rows.hpp"

namespace oracle {
namespace {

#define JOIN(f) ROW(#f, "X 2\tx 2,3\tx 2,3", TENSORS(x); return f(x))

Results broadcast_all(const std::vector<Tensor>& x) {
  switch (x.size()) {
    case 1: return broadcast_arrays({x[0]});
    case 2: return broadcast_arrays({x[0], x[1]});
    case 3: return broadcast_arrays({x[0], x[1], x[2]});
  }
  throw BadCase("broadcast_arrays takes 1 to 3 tensors here");
}

/// Takes widths one after another: before and after the first axis, and so on.
std::vector<std::pair<int64_t, int64_t>> pairs(const std::vector<int64_t>& v) {
  std::vector<std::pair<int64_t, int64_t>> p;
  for (size_t i = 0; i + 1 < v.size(); i += 2) p.emplace_back(v[i], v[i + 1]);
  return p;
}

PadMode mode_of(const std::string& s) {
  return s == "constant"   ? PadMode::constant
         : s == "reflect"  ? PadMode::reflect
         : s == "circular" ? PadMode::circular
                           : PadMode::replicate;
}

const Row kRows[] = {
    ROW("reshape", "x 2,3\tL 3,2", ARG(x); SHAPE(s); return reshape(x, s)),
    ROW("permute_dims", "x 2,3\tL 1,0", ARG(x); AXES(a); return permute_dims(x, a)),
    ROW("permute", "x 2,3\tL 1,0", ARG(x); AXES(a); return permute(x, a)),
    ROW("transpose", "x 2,3", ARG(x); AXES(a); return transpose(x, a)),
    UNARY(matrix_transpose),
    UNARY(flatten),
    UNARY(ravel),
    UNARY(flipud),
    UNARY(fliplr),
    ROW("atleast_1d", "x -", ARG(x); return atleast_1d(x)),
    ROW("atleast_2d", "x 3", ARG(x); return atleast_2d(x)),
    ROW("atleast_3d", "x 3", ARG(x); return atleast_3d(x)),
    ROW("swapaxes", "x 2,3\tI 0\tI 1", ARG(x); INT(a, 0); INT(b, 0); return swapaxes(x, a, b)),
    ROW("swapdims", "x 2,3\tI 0\tI 1", ARG(x); INT(a, 0); INT(b, 0); return swapdims(x, a, b)),
    ROW("moveaxis", "x 2,3\tL 0\tL 1", ARG(x); AXES(a); AXES(b); return moveaxis(x, a, b)),
    ROW("movedim", "x 2,3\tL 0\tL 1", ARG(x); AXES(a); AXES(b); return movedim(x, a, b)),
    ROW("squeeze", "x 2,1,3\tL 1", ARG(x); AXES(a); return squeeze(x, a)),
    ROW("expand_dims", "x 2,3\tI 1", ARG(x); INT(a, 0); return expand_dims(x, a)),
    ROW("unsqueeze", "x 2,3\tI 1", ARG(x); INT(a, 0); return unsqueeze(x, a)),
    ROW("broadcast_to", "x 3\tL 2,3", ARG(x); SHAPE(s); return broadcast_to(x, s)),
    ROW("broadcast_arrays", "X 2\tx 3\tx 2,1", TENSORS(x); return broadcast_all(x)),
    ROW("flip", "x 2,3\tL 1", ARG(x); AXES(a); return flip(x, a)),
    ROW("sliding_window_view", "x 5\tL 3", ARG(x); AXES(w); AXES(a); const Axes step = g.axes(1);
        return sliding_window_view(x, w, a, step, g.axes(1))),
    ROW("split", "x 4,2\tI 2", ARG(x); INT(n, 1); INT(a, 0); return split(x, n, a)),
    ROW("split/at", "x 4,2\tL 1,3", ARG(x); INTS(at); INT(a, 0); return split(x, at, a)),
    ROW("array_split", "x 4,2\tI 3", ARG(x); INT(n, 1); INT(a, 0); return array_split(x, n, a)),
    ROW("chunk", "x 4,2\tI 3", ARG(x); INT(n, 1); INT(a, 0); return chunk(x, n, a)),
    ROW("unstack", "x 2,3", ARG(x); INT(a, 0); return unstack(x, a)),
    ROW("unbind", "x 2,3", ARG(x); INT(a, 0); return unbind(x, a)),
    ROW("tensor_split", "x 4,2\tI 3", ARG(x); INT(n, 1); INT(a, 0); return tensor_split(x, n, a)),
    ROW("hsplit", "x 2,4\tI 2", ARG(x); INT(n, 1); return hsplit(x, n)),
    ROW("vsplit", "x 4,2\tI 2", ARG(x); INT(n, 1); return vsplit(x, n)),
    ROW("dsplit", "x 1,2,4\tI 2", ARG(x); INT(n, 1); return dsplit(x, n)),
    ROW("concat/flat", "X 2\tx 2,3\tx 1,3", TENSORS(x); return concat(x, none)),
    ROW("broadcast_tensors", "X 2\tx 3\tx 2,1", TENSORS(x); return broadcast_all(x)),
    ROW("narrow", "x 2,3\tI 1\tI 1\tI 2", ARG(x); INT(a, 0); INT(s, 0); INT(n, 0); return narrow(x, a, s, n)),
    JOIN(hstack),
    JOIN(vstack),
    JOIN(dstack),
    JOIN(column_stack),
    ROW("concat", "X 2\tx 2,3\tx 1,3", TENSORS(x); INT(a, 0); return concat(x, a)),
    ROW("cat", "X 2\tx 2,3\tx 1,3", TENSORS(x); INT(a, 0); return cat(x, a)),
    ROW("concatenate", "X 2\tx 2,3\tx 1,3", TENSORS(x); INT(a, 0); return concatenate(x, a)),
    ROW("stack", "X 2\tx 2,3\tx 2,3", TENSORS(x); INT(a, 0); return stack(x, a)),
    ROW("tile", "x 2,3\tL 2,2", ARG(x); SHAPE(n); return tile(x, n)),
    ROW("repeat", "x 2,3\tI 2\tL 1", ARG(x); INT(n, 1); AXES(a); return repeat(x, n, a)),
    ROW("repeat_interleave", "x 2,3\tI 2\tL 1", ARG(x); INT(n, 1); AXES(a);
        return repeat_interleave(x, n, a)),
    ROW("expand", "x 1,3\tL 2,-1", ARG(x); SHAPE(s); return expand(x, s)),
    ROW("expand_as", "x 1,3\tx 2,3", ARG(x); TENSOR(y); return expand_as(x, y)),
    ROW("roll", "x 2,3\tL 1\tL 1", ARG(x); AXES(n); AXES(a); return roll(x, n, a)),
    ROW("rot90", "x 2,3\tI 1", ARG(x); INT(n, 1); return rot90(x, n, g.axes({0, 1}))),
    ROW("unflatten", "x 6,2\tI 0\tL 2,3", ARG(x); INT(a, 0); SHAPE(s); return unflatten(x, a, s)),
    ROW("pad", "x 2,3\tL 1,1,0,2", ARG(x); INTS(widths); TEXT(mode, "constant"); NUMBER(v, 0);
        return pad(x, pairs(widths), mode, v)),
    ROW("pad/torch", "x 2,3\tL 1,1", ARG(x); INTS(pads); TEXT(mode, "constant"); NUMBER(v, 0);
        return pad(x, pads, mode_of(mode), v)),
    ROW("diff", "x 2,3", ARG(x); INT(n, 1); INT(a, -1); return diff(x, n, a)),
};

}  // namespace

std::span<const Row> arranging_rows() { return kRows; }

}  // namespace oracle
