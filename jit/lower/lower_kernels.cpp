// Makes kernels of each form: their dimensions, what is evaluated over them and what is stored.
#include "jit/lower/expressions.hpp"

namespace lazy::jit {

void map_dims(LowerDraft& draft, Building& b, uint32_t space) {
  const Shape& s = draft.shape(space);
  for (int i = 0; i < s.size(); ++i)
    if (s[i] != 1) {
      b.body.dims.of[b.dims] = static_cast<int8_t>(b.dims);
      b.add_dim(draft.at(space).node, i);
    }
  if (b.dims == 0) b.add_dim(kNone, 0);
}

void lower_map(LowerDraft& draft, Building& b, const Group& group) {
  Expressions x(draft, b);
  map_dims(draft, b, group.space);
  std::vector<std::pair<uint32_t, ValueId>> made;
  for (uint32_t v : group.roots)
    if (draft.is_stored(v)) made.emplace_back(v, x.evaluate(b.body, v, 0));
  for (auto [v, value] : made) x.store(b.body, v, value);
  b.kernel.form = loop::Form::map;
}

void lower_reduce(LowerDraft& draft, Building& b, const Group& group) {
  Expressions x(draft, b);
  const Shape& s = draft.shape(group.space);
  for (int i = 0, kept = 0, all = 0; i < s.size(); ++i) {
    if (s[i] == 1) continue;
    b.body.dims.of[b.dims] = static_cast<int8_t>(all++);
    if (i == group.axis) b.sequential_dim = b.dims;
    else b.epilogue.dims.of[b.dims] = static_cast<int8_t>(kept++);
    b.add_dim(draft.at(group.space).node, i);
  }
  b.kernel.form = loop::Form::reduce;
  std::vector<std::pair<uint32_t, ValueId>> each, made;
  made.reserve(group.roots.size());
  for (uint32_t v : group.roots) {
    if (!draft.is_stored(v)) continue;
    const bool in_body = same_index(draft.trace, v, group.space);
    (in_body ? each : made).emplace_back(v, x.evaluate(in_body ? b.body : b.epilogue, v, 0));
  }
  for (auto [v, value] : each) x.store(b.body, v, value);
  b.body_stores = b.kernel.stores.size();
  for (auto [v, value] : made) x.store(b.epilogue, v, value);
  for (uint32_t v : b.reduced) {
    loop::Reduction red;
    red.op = draft.at(v).op;
    red.value = x.evaluate(b.body, draft.at(v).operand[0], 0);
    red.type = b.body.code[red.value].type;
    b.kernel.reductions.push_back(red);
  }
}

// Lowers a scan. The scanned axis comes before the last of the others, which carries the vector.
void lower_scan(LowerDraft& draft, Building& b, const Group& group) {
  Expressions x(draft, b);
  const Shape& s = draft.shape(group.space);
  std::vector<int> order, place;
  for (int i = 0, all = 0; i < s.size(); ++i) {
    if (s[i] == 1) continue;
    if (i != group.axis) order.push_back(i), place.push_back(all);
    else b.sequential_dim = all;
    ++all;
  }
  const int scan_place = b.sequential_dim;
  const auto last = order.empty() ? 0 : order.size() - 1;
  for (size_t k = 0; k < last; ++k) {
    b.body.dims.of[b.dims] = static_cast<int8_t>(place[k]);
    b.add_dim(draft.at(group.space).node, order[k]);
  }
  b.sequential_dim = b.dims;
  b.body.dims.of[b.dims] = static_cast<int8_t>(scan_place);
  b.add_dim(draft.at(group.space).node, group.axis);
  if (order.empty()) {
    b.add_dim(kNone, 0);
  } else {
    b.body.dims.of[b.dims] = static_cast<int8_t>(place[last]);
    b.add_dim(draft.at(group.space).node, order[last]);
  }
  b.kernel.form = loop::Form::scan;
  const uint32_t v = group.roots[0];
  const ValueId in = x.evaluate(b.body, draft.at(v).operand[0], 0);
  const loop::Reduction red{draft.at(v).op, b.body.code[in].type, in};
  b.kernel.reductions.push_back(red);
  x.store(b.body, v, b.body.push({Code::result, {}, red.type, 0}));
}

namespace {

/// Makes places among the extents of what `v` permutes places among those of `v`.
void permute_dims(const LowerDraft& draft, DimMap& dims, uint32_t v) {
  const Shape &s = draft.shape(v), &from = draft.shape(draft.at(v).operand[0]);
  int8_t to[kMaxRank] = {};
  for (int i = 0, place = 0; i < s.size(); ++i) {
    if (s[i] == 1) continue;
    int8_t old = 0;
    for (int j = 0; j < draft.node(v).axes[i]; ++j) old = static_cast<int8_t>(old + (from[j] != 1));
    to[old] = static_cast<int8_t>(place++);
  }
  for (int8_t& d : dims.of)
    if (d >= 0) d = to[d];
}

/// Evaluates a side of a product, which has its own index map, and appends it to the body.
ValueId side(Expressions& x, Building& b, Region& r, uint32_t v) {
  r.code.swap(b.body.code);  // one numbering; each side has a separate memo
  b.operand_ids.clear();     // and so are its operands
  const ValueId value = x.evaluate(r, v, 0);
  r.code.swap(b.body.code);
  return value;
}

/// Returns the dimension of a product that has its rows: the last but one, or, where that has one row, the
/// last of the batch if the right side is the same for all of it.
int row_dim(const Shape& product, const Shape& right) {
  const int m = product.size() - 2;
  if (product[m] != 1) return m;
  int i = m - 1;
  while (i >= 0 && product[i] == 1) --i;
  const int there = i - (product.size() - right.size());
  return i < 0 || (there >= 0 && right[there] != 1) ? m : i;
}

}  // namespace

// Lowers a product over (k, batch..., m, n): k is summed; m and n stay dimensions even where their extent is
// 1, in which case it is m that has it. So the lanes, along n, have work wherever there is any, and m merges
// with the batch where the right side is the same for all of it.
void lower_contract(LowerDraft& draft, Building& b, const Group& group) {
  Expressions x(draft, b);
  const uint32_t v = group.roots[0];
  const Shape& s = draft.shape(v);
  const int rank = s.size();
  const uint32_t lhs = draft.at(v).operand[0], rhs = draft.at(v).operand[1];
  const Shape &sl = draft.shape(lhs), &sr = draft.shape(rhs);
  const int m = row_dim(s, sr);
  const bool column = s[rank - 1] == 1 && s[m] != 1;
  const auto place_in = [](const Shape& x, int i) {  // among the extents other than 1, or absent
    if (i < 0 || x[i] == 1) return Binding::kAbsent;
    int8_t p = 0;
    for (int j = 0; j < i; ++j) p = static_cast<int8_t>(p + (x[j] != 1));
    return p;
  };
  Region left, right;
  b.sequential_dim = b.dims;
  left.dims.of[b.dims] = place_in(sl, sl.size() - 1);
  right.dims.of[b.dims] = place_in(sr, sr.size() - 2);
  b.add_dim(draft.at(lhs).node, sl.size() - 1);
  for (int i = 0; i < rank - 2; ++i) {
    if (s[i] == 1 || i == m) continue;
    left.dims.of[b.dims] = place_in(sl, i - (rank - sl.size()));
    right.dims.of[b.dims] = place_in(sr, i - (rank - sr.size()));
    b.epilogue.dims.of[b.dims] = place_in(s, i);
    b.add_dim(draft.at(v).node, i);
  }
  const auto row = [&] {
    left.dims.of[b.dims] = place_in(sl, m - (rank - sl.size()));
    b.epilogue.dims.of[b.dims] = place_in(s, m);
    b.add_dim(draft.at(v).node, m);
  };
  if (!column) row();
  right.dims.of[b.dims] = place_in(sr, sr.size() - 1);
  b.epilogue.dims.of[b.dims] = place_in(s, rank - 1);
  b.add_dim(draft.at(v).node, rank - 1);
  if (column) row();
  b.fixed_dims = 1u << (b.dims - 1);  // n

  b.kernel.form = loop::Form::contract;
  // Anything that follows the product at the same index is computed from its accumulators.
  std::vector<std::pair<uint32_t, ValueId>> made;
  const auto is_permuted = [&](uint32_t root) {
    return std::find(group.permuted.begin(), group.permuted.end(), root) != group.permuted.end();
  };
  const auto is_placed = [&](uint32_t root) { return !group.placed.empty() && group.placed[0] == root; };
  const auto computed = [&](uint32_t root) {
    if (is_placed(root)) return draft.at(root).operand[1];
    return is_permuted(root) ? draft.at(root).operand[0] : root;
  };
  for (uint32_t root : group.roots)
    if (draft.is_stored(root)) made.emplace_back(root, x.evaluate(b.epilogue, computed(root), 0));
  for (auto [root, value] : made) {
    if (is_placed(root)) {
      const ValueId out = b.epilogue.cast(value, draft.at(root).dtype);
      b.kernel.stores.push_back({add_updated(draft, b, b.epilogue, root), out});
      start_from(draft, b, draft.at(root).operand[0]);
      continue;
    }
    const DimMap dims = b.epilogue.dims;
    if (is_permuted(root)) permute_dims(draft, b.epilogue.dims, root);
    x.store(b.epilogue, root, value);
    b.epilogue.dims = dims;
  }
  // The two sides have separate index maps, so each is evaluated apart and appended to the body.
  b.left = side(x, b, left, lhs);
  b.right = side(x, b, right, rhs);
}

// Lowers a store of the region's values into a buffer that starts as operand 0.
void lower_update(LowerDraft& draft, Building& b, const Group& group) {
  Expressions x(draft, b);
  const uint32_t v = group.roots[0], base = draft.at(v).operand[0], patch = draft.at(v).operand[1];
  map_dims(draft, b, patch);
  b.kernel.form = loop::Form::map;
  const ValueId value = x.evaluate(b.body, patch, 0);
  const ValueId out = b.body.cast(value, draft.at(v).dtype);
  b.kernel.stores.push_back({add_updated(draft, b, b.body, v), out});
  start_from(draft, b, base);
}

/// Adds the operand that is the buffer of `v`, an update, in part.
uint16_t add_updated(LowerDraft& draft, Building& b, const Region& r, uint32_t v) {
  BuildingOperand o;
  o.value = v;
  o.binding.node = draft.at(v).node;
  o.binding.dtype = draft.at(v).dtype;
  o.binding.output = o.binding.region = true;
  o.binding.slot = draft.slot_of(v);
  std::copy(std::begin(r.dims.of), std::end(r.dims.of), o.binding.dim_of);
  b.operands.push_back(std::move(o));
  return static_cast<uint16_t>(b.operands.size() - 1);
}

/// Lets what the step makes start as `base`.
void start_from(LowerDraft& draft, Building& b, uint32_t base) {
  if (is_overwritten(draft.node(base))) {
    b.step.initial = Initial::nothing;
    return;
  }
  b.step.initial = Initial::copy;
  b.step.initial_from.node = draft.at(base).node;
  b.step.initial_from.dtype = draft.at(base).dtype;
  if (draft.at(base).op == Op::input) draft.guard_input(base);
  else b.step.initial_from.slot = draft.slot_of(base);
  draft.reads(base, b.group);
}

}  // namespace lazy::jit
