#include "jit/key/recordable.hpp"

#include <algorithm>

#include "jit/core/rules.hpp"
#include "jit/graph/indexed.hpp"
#include "jit/graph/layout.hpp"
#include "support/error.hpp"

namespace lazy::jit {
namespace {

bool same_types(const Node& n) {
  const OpKind kind = kind_of(n.op);
  const int first = n.op == Op::where;  // operand 0 of where is bool
  const DType t = n.operand[first]->dtype;
  const bool indexed = kind == OpKind::indexed || n.op == Op::scatter;  // operand 1 has any integer dtype
  for (int i = first; i < n.arity; ++i)
    if (n.operand[i]->dtype != t && !(indexed && i == 1)) return false;
  if (first && n.operand[0]->dtype != bool_) return false;
  if (indexed) return n.dtype == t && is_int(n.operand[1]->dtype);
  if (kind == OpKind::view || kind == OpKind::update) return n.dtype == t;
  if (n.op == Op::cast) return true;
  return loop::accepts(n.op, compute_type(t)) && n.dtype == loop::result_type(n.op, t);
}

/// True if operands, aligned at the right, broadcast to the node's shape: each extent is the result's or 1,
/// and the result's is one of them.
bool broadcast_to(const Node& n, int outer_rank) {
  for (int i = 0; i < outer_rank; ++i) {
    bool found = false;
    for (int o = 0; o < n.arity; ++o) {
      const Shape& s = n.operand[o]->shape;
      const int at = i - (n.shape.size() - s.size());
      if (at < 0) continue;
      if (s[at] != n.shape[i] && s[at] != 1) return false;
      found |= s[at] == n.shape[i];
    }
    if (!found) return false;
  }
  return true;
}

bool pointwise(const Node& n) {
  int rank = 0;
  for (int o = 0; o < n.arity; ++o) rank = std::max(rank, n.operand[o]->shape.size());
  return n.shape.size() == rank && broadcast_to(n, rank);
}

bool product(const Node& n) {
  const Shape &a = n.operand[0]->shape, &b = n.operand[1]->shape;
  const int rank = n.shape.size();
  if (a.size() < 2 || b.size() < 2 || rank != std::max(a.size(), b.size())) return false;
  return a.back() == b[b.size() - 2] && n.shape[rank - 2] == a[a.size() - 2] && n.shape.back() == b.back() &&
         broadcast_to(n, rank - 2);
}

bool one_axis(const Node& n) {
  const Shape& s = n.operand[0]->shape;
  if (n.axes.size() != 1 || axis_of(n) >= s.size() || n.shape.size() != s.size()) return false;
  for (int i = 0; i < s.size(); ++i)
    if (n.shape[i] != (kind_of(n.op) == OpKind::reduce && i == axis_of(n) ? 1 : s[i])) return false;
  return true;
}

bool reshaped(const Node& n) {
  const Shape& from = n.operand[0]->shape;
  if (!(n.ints == n.shape) || numel(from) != numel(n.shape)) return false;
  const bool unit = n.axes.size() == 1 && reshape_kind(n) == ReshapeKind::unit;
  if (unit != (without_ones(from) == without_ones(n.shape))) return false;
  if (unit || n.axes.empty()) return true;
  if (n.axes.size() != 2 || reshape_kind(n) != ReshapeKind::leading_kept) return false;
  const int kept = kept_dimensions(n);
  return kept > 0 && kept <= std::min(from.size(), n.shape.size()) &&
         std::equal(from.begin(), from.begin() + kept, n.shape.begin());
}

bool permuted(const Node& n) {
  const Shape& from = n.operand[0]->shape;
  if (n.axes.size() != from.size() || n.shape.size() != from.size()) return false;
  uint32_t seen = 0;
  for (int i = 0; i < from.size(); ++i) {
    if (n.axes[i] >= from.size() || n.shape[i] != from[static_cast<int>(n.axes[i])]) return false;
    seen |= 1u << n.axes[i];
  }
  return seen == (1u << from.size()) - 1;
}

/// True if elements start, start + step, ... are all in an axis.
bool inside(int64_t start, int64_t step, int64_t count, int64_t extent) {
  if (count == 0) return true;
  int64_t last = 0;
  return start >= 0 && start < extent && !__builtin_mul_overflow(step, count - 1, &last) &&
         !__builtin_add_overflow(start, last, &last) && last >= 0 && last < extent;
}

bool sliced(const Node& n) {
  const Shape& from = n.operand[0]->shape;
  const int rank = from.size();
  if (n.shape.size() != rank || n.ints.size() != rank || n.steps.size() != rank || n.axes.size() != rank)
    return false;
  for (int i = 0; i < rank; ++i) {
    const bool whole = n.ints[i] == 0 && n.steps[i] == 1 && n.shape[i] == from[i];
    if ((n.axes[i] == 1) != whole || n.axes[i] > 1 || !inside(n.ints[i], n.steps[i], n.shape[i], from[i]))
      return false;
  }
  return true;
}

bool windowed(const Node& n) {
  const Shape& from = n.operand[0]->shape;
  const int rank = from.size(), axes = n.axes.size();
  if (n.shape.size() != rank + axes || n.ints.size() != axes || n.steps.size() != axes) return false;
  uint32_t cut = 0;
  for (int i = 0; i < axes; ++i) {
    if (n.axes[i] >= rank || (cut >> n.axes[i] & 1)) return false;
    cut |= 1u << n.axes[i];
    const int64_t extent = from[static_cast<int>(n.axes[i])], count = n.shape[static_cast<int>(n.axes[i])],
                  length = n.shape[rank + i];
    if (n.ints[i] < 0 || n.steps[i] < 0) return false;
    int64_t first = 0, last = 0;  // the last window's first and last element
    if (count > 0 && length > 0 &&
        (__builtin_mul_overflow(n.ints[i], count - 1, &first) ||
         __builtin_mul_overflow(n.steps[i], length - 1, &last) ||
         __builtin_add_overflow(first, last, &last) || last >= extent))
      return false;
  }
  for (int i = 0; i < rank; ++i)
    if (!(cut >> i & 1) && n.shape[i] != from[i]) return false;
  return true;
}

bool updated(const Node& n) {
  const Shape &whole = n.operand[0]->shape, &region = n.operand[1]->shape;
  const int rank = whole.size();
  if (is_piece(n) && n.axes != Dims{1}) return false;
  if (!(n.shape == whole) || region.size() != rank || n.ints.size() != rank || n.steps.size() != rank)
    return false;
  for (int i = 0; i < rank; ++i)
    if (n.steps[i] <= 0 || !inside(n.ints[i], n.steps[i], region[i], whole[i])) return false;
  return true;
}

/// True for a gather or scatter whose shapes are equal, except along the axis, where operand 0's extent is
/// free.
bool is_indexed(const Node& n) {
  const bool stores = n.op == Op::scatter;
  const Shape &whole = n.operand[0]->shape, &index = n.operand[1]->shape;
  if (n.axes.size() != (stores ? 3 : 2) || index.size() != whole.size()) return false;
  const Indexed how = indexed_of(n);
  if (how.axis >= whole.size() || how.bounds > Bounds::strict || how.combine > Combine::max) return false;
  for (int i = 0; i < whole.size(); ++i)
    if (i != how.axis && whole[i] != index[i]) return false;
  if (!stores) return n.shape == index;
  const Op combine = combining_op(how.combine);
  return n.shape == whole && n.operand[2]->shape == index &&
         (combine == Op::cast || loop::accepts(combine, compute_type(n.dtype)));
}

/// True if an input's strides reach no further than its memory could.
bool reachable(const Node& n) {
  if (n.contiguous) return true;
  if (n.strides.size() != n.shape.size()) return false;
  int64_t reach = 0;
  for (int i = 0; i < n.shape.size(); ++i) {
    int64_t along = 0;
    constexpr int64_t kFar = int64_t{1} << 58;
    if (n.strides[i] < -kFar || n.strides[i] > kFar ||
        __builtin_mul_overflow(n.strides[i] < 0 ? -n.strides[i] : n.strides[i], n.shape[i], &along) ||
        __builtin_add_overflow(reach, along, &reach) || reach > kFar)
      return false;
  }
  return !(Layout{n.shape, n.strides, 0}.is_contiguous());
}

/// Finds the outputs of a call node; false if it doesn't take its operands.
bool outputs_of(const Node& call, std::vector<CallOutput>& out) {
  if (!call.call || call.arity < call.call->tokens()) return false;
  std::vector<Meta> operands;
  for (int i = 0; i < call.arity - call.call->tokens(); ++i)
    operands.push_back({call.operand[i]->dtype, call.operand[i]->shape});
  try {
    out = infer_outputs(*call.call, operands);
  } catch (const Error&) { return false; }
  return true;
}

bool is_token(const Node& n) { return n.dtype == DType::uint8 && n.shape == Shape{0}; }

bool called(const Node& n) {
  std::vector<CallOutput> outputs;
  if (!outputs_of(n, outputs) || !is_token(n)) return false;
  return n.call->tokens() == 0 || is_token(*n.operand[n.arity - 1]);
}

}  // namespace

bool meta_of_part(const Node& part, Meta& m) {
  if (part.arity != 1 || part.axes.size() != 1 || part.operand[0]->op != Op::call) return false;
  std::vector<CallOutput> outputs;
  if (!outputs_of(*part.operand[0], outputs) || output_of(part) >= outputs.size()) return false;
  m = outputs[output_of(part)].meta;
  return true;
}

bool recordable(const Node& n) {
  for (int64_t e : n.shape)
    if (e < 0) return false;
  if (!countable(n.shape)) return false;
  if (n.op != Op::call && n.op != Op::part &&
      (n.arity != row_of(n.op).arity || (n.arity > 0 && !same_types(n))))
    return false;
  switch (kind_of(n.op)) {
    case OpKind::input: return reachable(n);
    case OpKind::constant: return n.axes.empty() || is_overwritten(n);
    case OpKind::iota: return n.dtype == int64 && n.axes.size() == 1 && axis_of(n) < n.shape.size();
    case OpKind::pointwise: return n.axes.empty() && pointwise(n);
    case OpKind::reduce:
    case OpKind::scan: return one_axis(n);
    case OpKind::contract: return n.axes.empty() && product(n);
    case OpKind::call: return called(n);
    case OpKind::part: {
      Meta m;
      return meta_of_part(n, m) && n.shape == m.shape && n.dtype == m.dtype;
    }
    case OpKind::indexed: return is_indexed(n);
    case OpKind::update: return n.op == Op::scatter ? is_indexed(n) : updated(n);
    case OpKind::view: break;
  }
  switch (n.op) {
    case Op::reshape: return reshaped(n);
    case Op::permute: return permuted(n);
    case Op::broadcast:
      return n.axes.empty() && n.ints == n.shape && n.operand[0]->shape.size() <= n.shape.size() && [&] {
        const Shape& from = n.operand[0]->shape;
        const int more = n.shape.size() - from.size();
        for (int i = 0; i < from.size(); ++i)
          if (from[i] != 1 && from[i] != n.shape[more + i]) return false;
        return true;
      }();
    case Op::slice: return sliced(n);
    default: return windowed(n);
  }
}

}  // namespace lazy::jit
