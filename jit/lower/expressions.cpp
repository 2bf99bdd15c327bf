// Makes expressions: the instructions by which a kernel gets a value at its index.
#include "jit/lower/expressions.hpp"

namespace lazy::jit {
namespace {

DType result_type(const LowerDraft& draft, uint32_t v) {
  const Op op = draft.at(v).op;
  return op == Op::argmax || op == Op::argmin ? DType::int64 : compute_type(draft.at(v).dtype);
}

}  // namespace

void Expressions::store(Region& r, uint32_t v, ValueId value) {
  const ValueId out = r.cast(value, at(v).dtype);
  b_.kernel.stores.push_back({operand(r, v, 0, true), out});
}

uint16_t Expressions::operand(const Region& r, uint32_t v, uint32_t path, bool output) {
  const uint64_t key = (static_cast<uint64_t>(v) << 32 | path) * 4 + r.epilogue * 2 + output;
  const auto [id, fresh] = b_.operand_ids.try_emplace(key, static_cast<uint16_t>(b_.operands.size()));
  if (!fresh) return id;
  BuildingOperand o;
  o.value = v;
  o.binding.node = at(v).node;
  o.binding.path = path;
  o.binding.dtype = at(v).dtype;
  o.binding.output = output;
  std::copy(std::begin(r.dims.of), std::end(r.dims.of), o.binding.dim_of);
  const bool input = at(v).op == Op::input;
  if (input) draft_.reads(v, b_.group);
  else o.binding.slot = draft_.slot_of(v), draft_.reads(v, b_.group);
  const Places m = draft_.places(path, v);
  o.packed = m.whole && (!input || (draft_.node(v).contiguous && !draft_.options.strict_layout));
  for (int d = 0; d < loop::kMaxAxes; ++d)
    if (r.dims.of[d] >= 0) o.place[static_cast<size_t>(d)] = static_cast<int8_t>(m.of[r.dims.of[d]]);
  if (o.packed) {
    o.places = m.source;
    if (input) draft_.guard_input(v);
  } else if (input && draft_.reshapes(path)) {
    draft_.guard_input(v);
  }
  o.binding.packed = o.packed;
  b_.operands.push_back(std::move(o));
  return id;
}

uint16_t Expressions::scalar(uint32_t v) {
  const auto [id, fresh] = b_.scalar_ids.try_emplace(v, static_cast<uint16_t>(b_.step.scalars.size()));
  if (fresh) b_.step.scalars.push_back(argument_of(v));
  return id;
}

ScalarArgument Expressions::argument_of(uint32_t v) const {
  ScalarArgument s;
  if (v != kNone) {
    s.node = at(v).node;
    s.from = at(v).dtype;
    s.type = compute_type(s.from);
  } else {
    s.from = s.type = DType::int64;  // index along an extent of 1
  }
  return s;
}

ValueId Expressions::load(Region& r, uint32_t v, uint32_t path) {
  const ValueId x = r.push({Code::load, {}, at(v).dtype, operand(r, v, path, false)});
  return r.cast(x, compute_type(at(v).dtype));
}

ValueId Expressions::index_along(Region& r, uint32_t v, uint32_t path) {
  const Places m = draft_.places(path, v, axis_of(draft_.node(v)));
  for (int d = 0; d < b_.dims; ++d) {
    const int place = r.dims.of[d];
    if (place >= 0 && m.of[place]) {
      b_.fixed_dims |= 1u << d;
      return r.push(
          {Code::iota, {}, DType::int64, static_cast<uint16_t>(d)});  // a dimension; axes are known later
    }
  }
  return r.push({Code::scalar, {}, DType::int64, scalar(kNone)});
}

// Returns what `v`, read along `path`, is in this kernel without looking at operands; kNoValue if it must be
// computed from them.
ValueId Expressions::terminal(Region& r, uint32_t v, uint32_t path) {
  const Value& x = at(v);
  if (x.op == Op::input) return load(r, v, path);
  if (x.op == Op::constant) {
    const DType type = compute_type(x.dtype);
    return r.push({Code::scalar, {}, type, scalar(v)});
  }
  const bool here = draft_.fusion.kernel_of[v] == b_.group && path == 0;
  const OpKind k = kind_of(x.op);
  if (k == OpKind::reduce || k == OpKind::scan || k == OpKind::contract) {
    if (!here) return load(r, v, path);
    const ValueId result = r.push({Code::result, {}, result_type(draft_, v), reduction(v)});
    return is_half(x.dtype) && draft_.options.exact_casts ? rounded(r, result, x.dtype) : result;
  }
  if (draft_.fusion.materialised[v] && !here) return load(r, v, path);
  if (x.op == Op::iota) return index_along(r, v, path);
  return kNoValue;
}

uint16_t Expressions::reduction(uint32_t v) {
  const auto [id, fresh] = b_.reduction_ids.try_emplace(v, static_cast<uint16_t>(b_.reduced.size()));
  if (fresh) b_.reduced.push_back(v);
  return id;
}

// Returns the value of `v` at the kernel's index seen through `path`, by a depth-first walk with an explicit
// stack.
ValueId Expressions::evaluate(Region& r, uint32_t root, uint32_t root_path) {
  struct Visit {
    uint32_t v, path;
  };
  std::vector<Visit> stack{{root, root_path}};
  while (!stack.empty()) {
    const auto [v, path] = stack.back();
    if (r.memo.contains(key(v, path))) {
      stack.pop_back();
      continue;
    }
    const ValueId done = terminal(r, v, path);
    if (done != kNoValue) {
      r.memo.try_emplace(key(v, path), done);
      stack.pop_back();
      continue;
    }
    if (const TraceLoop* loop = rolled_loop_of(draft_.fusion, v)) {
      const size_t before = stack.size();
      each_from_before(*loop, [&](uint32_t user, uint32_t o, bool fixed) {
        const uint32_t p = fixed ? to_operand(r, o, user, path) : path;
        if (!r.memo.contains(key(o, p))) stack.push_back({o, p});
      });
      if (stack.size() == before) rolled_loop(r, *loop, path);
      continue;
    }
    const Value& x = at(v);
    const bool view = kind_of(x.op) == OpKind::view, indexed = kind_of(x.op) == OpKind::indexed;
    ValueId args[3] = {kNoValue, kNoValue, kNoValue};
    bool complete = true;
    // The first operand is pushed last, so evaluated first. What is read at an index is in memory.
    for (int i = x.arity - 1; i >= (indexed ? 1 : 0); --i) {
      const uint32_t o = x.operand[i];
      const uint32_t p = view ? through_view(v, path) : to_operand(r, o, v, path);
      if (const ValueId* known = r.memo.find(key(o, p))) {
        args[i] = *known;
      } else {
        complete = false;
        stack.push_back({o, p});
      }
    }
    if (!complete) continue;
    stack.pop_back();
    r.memo.try_emplace(key(v, path), view      ? args[0]
                                     : indexed ? gather(r, v, path, args[1])
                                               : compute(r, x, args));
  }
  return *r.memo.find(key(root, root_path));
}

ValueId Expressions::compute(Region& r, const Value& x, const ValueId* args) const {
  if (x.op == Op::cast) {
    const ValueId y = r.cast(args[0], x.dtype);  // an explicit cast to a 16-bit float rounds
    return r.cast(y, compute_type(x.dtype));
  }
  const ValueId y = r.push({Code::op, x.op, compute_type(x.dtype), 0, args[0], args[1], args[2], x.accuracy});
  return is_half(x.dtype) && draft_.options.exact_casts ? rounded(r, y, x.dtype) : y;
}

ValueId Expressions::rounded(Region& r, ValueId v, DType half) const {
  return r.cast(r.cast(v, half), DType::float32);
}

/// Returns the path by which view `w`, read along `path`, reads its operand. Identity steps next to the
/// kernel vanish.
uint32_t Expressions::through_view(uint32_t w, uint32_t path) {
  return path == 0 && is_identity_view(draft_.trace, w) ? 0 : draft_.extend(path, w, false);
}

/// Returns the path to operand `o`. Values read along one path have the same extents, so broadcasting to any
/// of them of one form is the same index map: a tensor that a hundred ops broadcast is loaded once.
uint32_t Expressions::to_operand(Region& r, uint32_t o, uint32_t user, uint32_t path) {
  const Value &from = at(o), &to = at(user);
  if (path == 0 ? same_index(draft_.trace, o, user) : from.rank == to.rank && from.ones == to.ones)
    return path;
  const uint64_t form = static_cast<uint64_t>(path) << 32 | static_cast<uint64_t>(to.rank) << 16 | to.ones;
  const auto [aligned, fresh] = r.aligned.try_emplace(form, 0);
  if (fresh) aligned = draft_.extend(path, user, true);
  return aligned;
}

}  // namespace lazy::jit
