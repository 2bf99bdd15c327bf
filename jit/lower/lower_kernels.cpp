// Makes kernels of each form: their dimensions, what is evaluated over them and what is stored.
#include "jit/lower/lowering.hpp"

namespace lazy::jit {

void Lowering::store(Building& b, Region& r, uint32_t v, ValueId value) {
  const ValueId out = cast(r, value, at(v).dtype);
  b.kernel.stores.push_back({operand(b, r, v, 0, true), out});
}

void Lowering::add_dim(Building& b, uint32_t v, int dim) {
  KernelDim d;
  if (v != kNone) d.node = at(v).node, d.dim = dim;
  b.step.dims.push_back(d);
  ++b.dims;
}

void Lowering::map_dims(Building& b, uint32_t space) {
  const Shape& s = shape(space);
  for (int i = 0; i < s.size(); ++i)
    if (s[i] != 1) {
      b.body.dims.of[b.dims] = static_cast<int8_t>(b.dims);
      add_dim(b, space, i);
    }
  if (b.dims == 0) add_dim(b, kNone, 0);
}

void Lowering::lower_map(Building& b, const Group& group) {
  map_dims(b, group.space);
  std::vector<std::pair<uint32_t, ValueId>> made;
  for (uint32_t v : group.roots)
    if (is_stored(v)) made.emplace_back(v, evaluate(b, b.body, v, 0));
  for (auto [v, value] : made) store(b, b.body, v, value);
  b.kernel.form = loop::Form::map;
}

void Lowering::lower_reduce(Building& b, const Group& group) {
  const Shape& s = shape(group.space);
  for (int i = 0, kept = 0, all = 0; i < s.size(); ++i) {
    if (s[i] == 1) continue;
    b.body.dims.of[b.dims] = static_cast<int8_t>(all++);
    if (i == group.axis) b.sequential_dim = b.dims;
    else b.epilogue.dims.of[b.dims] = static_cast<int8_t>(kept++);
    add_dim(b, group.space, i);
  }
  b.kernel.form = loop::Form::reduce;
  std::vector<std::pair<uint32_t, ValueId>> each, made;
  made.reserve(group.roots.size());
  for (uint32_t v : group.roots) {
    if (!is_stored(v)) continue;
    const bool in_body = same_index(t_, v, group.space);
    (in_body ? each : made).emplace_back(v, evaluate(b, in_body ? b.body : b.epilogue, v, 0));
  }
  for (auto [v, value] : each) store(b, b.body, v, value);
  b.body_stores = b.kernel.stores.size();
  for (auto [v, value] : made) store(b, b.epilogue, v, value);
  for (uint32_t v : b.reduced) {
    loop::Reduction red;
    red.op = at(v).op;
    red.value = evaluate(b, b.body, at(v).operand[0], 0);
    red.type = b.body.code[red.value].type;
    b.kernel.reductions.push_back(red);
  }
}

// Lowers a scan. The scanned axis comes before the last of the others, which carries the vector.
void Lowering::lower_scan(Building& b, const Group& group) {
  const Shape& s = shape(group.space);
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
    add_dim(b, group.space, order[k]);
  }
  b.sequential_dim = b.dims;
  b.body.dims.of[b.dims] = static_cast<int8_t>(scan_place);
  add_dim(b, group.space, group.axis);
  if (order.empty()) {
    add_dim(b, kNone, 0);
  } else {
    b.body.dims.of[b.dims] = static_cast<int8_t>(place[last]);
    add_dim(b, group.space, order[last]);
  }
  b.kernel.form = loop::Form::scan;
  const uint32_t v = group.roots[0];
  const ValueId in = evaluate(b, b.body, at(v).operand[0], 0);
  const loop::Reduction red{at(v).op, b.body.code[in].type, in};
  b.kernel.reductions.push_back(red);
  store(b, b.body, v, push(b.body, {Code::result, {}, red.type, 0}));
}

// Lowers a product over (k, batch..., m, n): k is summed; m and n stay dimensions even where their extent is
// 1, in which case it is m that has it. So the lanes, along n, have work wherever there is any, and m merges
// with the batch where the right side is the same for all of it.
void Lowering::lower_contract(Building& b, const Group& group) {
  const uint32_t v = group.roots[0];
  const Shape& s = shape(v);
  const int rank = s.size();
  const bool column = s[rank - 1] == 1 && s[rank - 2] != 1;
  const uint32_t lhs = at(v).operand[0], rhs = at(v).operand[1];
  const Shape &sl = shape(lhs), &sr = shape(rhs);
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
  add_dim(b, lhs, sl.size() - 1);
  for (int i = 0; i < rank - 2; ++i) {
    if (s[i] == 1) continue;
    left.dims.of[b.dims] = place_in(sl, i - (rank - sl.size()));
    right.dims.of[b.dims] = place_in(sr, i - (rank - sr.size()));
    b.epilogue.dims.of[b.dims] = place_in(s, i);
    add_dim(b, v, i);
  }
  const auto row = [&] {
    left.dims.of[b.dims] = place_in(sl, sl.size() - 2);
    b.epilogue.dims.of[b.dims] = place_in(s, rank - 2);
    add_dim(b, v, rank - 2);
  };
  if (!column) row();
  right.dims.of[b.dims] = place_in(sr, sr.size() - 1);
  b.epilogue.dims.of[b.dims] = place_in(s, rank - 1);
  add_dim(b, v, rank - 1);
  if (column) row();
  b.fixed_dims = 1u << (b.dims - 1);  // n

  b.kernel.form = loop::Form::contract;
  // Anything that follows the product at the same index is computed from its accumulators.
  std::vector<std::pair<uint32_t, ValueId>> made;
  const auto is_permuted = [&](uint32_t root) {
    return std::find(group.permuted.begin(), group.permuted.end(), root) != group.permuted.end();
  };
  for (uint32_t root : group.roots)
    if (is_stored(root))
      made.emplace_back(root, evaluate(b, b.epilogue, is_permuted(root) ? at(root).operand[0] : root, 0));
  for (auto [root, value] : made) {
    const DimMap dims = b.epilogue.dims;
    if (is_permuted(root)) permute_dims(b.epilogue.dims, root);
    store(b, b.epilogue, root, value);
    b.epilogue.dims = dims;
  }
  // The two sides have separate index maps, so each is evaluated apart and appended to the body.
  b.left = side(b, left, lhs);
  b.right = side(b, right, rhs);
}

/// Makes places among the extents of what `v` permutes places among those of `v`.
void Lowering::permute_dims(DimMap& dims, uint32_t v) const {
  const Shape &s = shape(v), &from = shape(at(v).operand[0]);
  int8_t to[kMaxRank] = {};
  for (int i = 0, place = 0; i < s.size(); ++i) {
    if (s[i] == 1) continue;
    int8_t old = 0;
    for (int j = 0; j < t_.node(v).axes[i]; ++j) old = static_cast<int8_t>(old + (from[j] != 1));
    to[old] = static_cast<int8_t>(place++);
  }
  for (int8_t& d : dims.of)
    if (d >= 0) d = to[d];
}

ValueId Lowering::side(Building& b, Region& r, uint32_t v) {
  r.code.swap(b.body.code);  // one numbering; each side has a separate memo
  b.operand_ids.clear();     // and so are its operands
  const ValueId value = evaluate(b, r, v, 0);
  r.code.swap(b.body.code);
  return value;
}

// Lowers a store of the region's values into a buffer that starts as operand 0.
void Lowering::lower_update(Building& b, const Group& group) {
  const uint32_t v = group.roots[0], base = at(v).operand[0], patch = at(v).operand[1];
  map_dims(b, patch);
  b.kernel.form = loop::Form::map;
  const ValueId value = evaluate(b, b.body, patch, 0);
  const ValueId out = cast(b.body, value, at(v).dtype);
  b.kernel.stores.push_back({add_updated(b, v), out});
  start_from(b, base);
}

/// Adds the operand that is the buffer of `v`, an update, in part.
uint16_t Lowering::add_updated(Building& b, uint32_t v) {
  Operand o;
  o.value = v;
  o.binding.node = at(v).node;
  o.binding.dtype = at(v).dtype;
  o.binding.output = o.binding.region = true;
  o.binding.slot = slot_of(v);
  std::copy(std::begin(b.body.dims.of), std::end(b.body.dims.of), o.binding.dim_of);
  b.operands.push_back(std::move(o));
  return static_cast<uint16_t>(b.operands.size() - 1);
}

/// Lets what the step makes start as `base`.
void Lowering::start_from(Building& b, uint32_t base) {
  if (is_overwritten(t_.node(base))) {
    b.step.initial = Initial::nothing;
    return;
  }
  b.step.initial = Initial::copy;
  b.step.initial_from.node = at(base).node;
  b.step.initial_from.dtype = at(base).dtype;
  if (at(base).op == Op::input) guard_input(base);
  else b.step.initial_from.slot = slot_of(base);
  last_read_[base] = std::max(last_read_[base], b.group);
}

}  // namespace lazy::jit
