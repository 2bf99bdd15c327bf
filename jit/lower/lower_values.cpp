// Makes expressions: the instructions by which a kernel gets a value at its index.
#include "jit/lower/lowering.hpp"

namespace lazy::jit {

uint16_t Lowering::operand(Building& b, const Region& r, uint32_t v, uint32_t path, bool output) {
  const uint64_t key = (static_cast<uint64_t>(v) << 32 | path) * 4 + r.epilogue * 2 + output;
  const auto [id, fresh] = b.operand_ids.try_emplace(key, static_cast<uint16_t>(b.operands.size()));
  if (!fresh) return id;
  Operand o;
  o.value = v;
  o.binding.node = at(v).node;
  o.binding.path = path;
  o.binding.dtype = at(v).dtype;
  o.binding.output = output;
  std::copy(std::begin(r.dims.of), std::end(r.dims.of), o.binding.dim_of);
  const bool input = at(v).op == Op::input;
  if (input) last_read_[v] = std::max(last_read_[v], b.group);
  else o.binding.slot = slot_of(v), last_read_[v] = std::max(last_read_[v], b.group);
  const Places m = places(path, v);
  o.packed = m.whole && (!input || (t_.node(v).contiguous && !options_.strict_layout));
  if (o.packed) {
    o.places = m.source;
    for (int d = 0; d < loop::kMaxAxes; ++d)
      if (r.dims.of[d] >= 0) o.place[static_cast<size_t>(d)] = static_cast<int8_t>(m.of[r.dims.of[d]]);
    if (input) guard_input(v);
  } else if (input && reshapes(path)) {
    guard_input(v);
  }
  o.binding.packed = o.packed;
  b.operands.push_back(std::move(o));
  return id;
}

void Lowering::guard_input(uint32_t v) {
  if (guarded_.size() < t_.values.size()) guarded_.resize(t_.values.size(), 0);
  if (guarded_[v]++) return;
  p_.guards.push_back({Guard::Kind::contiguous, at(v).node, 0, 0, 0, 1});
}

uint16_t Lowering::scalar(Building& b, uint32_t v) {
  const auto [id, fresh] = b.scalar_ids.try_emplace(v, static_cast<uint16_t>(b.step.scalars.size()));
  if (fresh) b.step.scalars.push_back(argument_of(v));
  return id;
}

ScalarArgument Lowering::argument_of(uint32_t v) const {
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

ValueId Lowering::load(Building& b, Region& r, uint32_t v, uint32_t path) {
  const ValueId x = push(r, {Code::load, {}, at(v).dtype, operand(b, r, v, path, false)});
  return cast(r, x, compute_type(at(v).dtype));
}

ValueId Lowering::index_along(Building& b, Region& r, uint32_t v, uint32_t path) {
  const Places m = places(path, v, t_.node(v).axes[0]);
  for (int d = 0; d < b.dims; ++d) {
    const int place = r.dims.of[d];
    if (place >= 0 && m.of[place]) {
      b.fixed_dims |= 1u << d;
      return push(
          r, {Code::iota, {}, DType::int64, static_cast<uint16_t>(d)});  // a dimension; axes are known later
    }
  }
  return push(r, {Code::scalar, {}, DType::int64, scalar(b, kNone)});
}

// Returns what `v`, read along `path`, is in this kernel without looking at operands; kNoValue if it must be
// computed from them.
ValueId Lowering::terminal(Building& b, Region& r, uint32_t v, uint32_t path) {
  const Value& x = at(v);
  if (x.op == Op::input) return load(b, r, v, path);
  if (x.op == Op::constant) {
    const DType type = compute_type(x.dtype);
    return push(r, {Code::scalar, {}, type, scalar(b, v)});
  }
  const bool here = f_.kernel_of[v] == b.group && path == 0;
  const OpKind k = kind_of(x.op);
  if (k == OpKind::reduce || k == OpKind::scan || k == OpKind::contract) {
    if (!here) return load(b, r, v, path);
    const ValueId result = push(r, {Code::result, {}, result_type(v), reduction(b, v)});
    return is_half(x.dtype) && options_.exact_casts ? rounded(r, result, x.dtype) : result;
  }
  if (f_.materialised[v] && !here) return load(b, r, v, path);
  if (x.op == Op::iota) return index_along(b, r, v, path);
  return kNoValue;
}

DType Lowering::result_type(uint32_t v) const {
  const Op op = at(v).op;
  return op == Op::argmax || op == Op::argmin ? DType::int64 : compute_type(at(v).dtype);
}

uint16_t Lowering::reduction(Building& b, uint32_t v) {
  const auto [id, fresh] = b.reduction_ids.try_emplace(v, static_cast<uint16_t>(b.reduced.size()));
  if (fresh) b.reduced.push_back(v);
  return id;
}

// Returns the value of `v` at the kernel's index seen through `path`, by a depth-first walk with an explicit
// stack.
ValueId Lowering::evaluate(Building& b, Region& r, uint32_t root, uint32_t root_path) {
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
    const ValueId done = terminal(b, r, v, path);
    if (done != kNoValue) {
      r.memo.try_emplace(key(v, path), done);
      stack.pop_back();
      continue;
    }
    if (const TraceLoop* rolled_loop = rolled_loop_of(f_, v)) {
      const size_t before = stack.size();
      each_from_before(*rolled_loop, [&](uint32_t user, uint32_t o, bool fixed) {
        const uint32_t p = fixed ? to_operand(r, o, user, path) : path;
        if (!r.memo.contains(key(o, p))) stack.push_back({o, p});
      });
      if (stack.size() == before) lower_rolled_loop(b, r, *rolled_loop, path);
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
                                     : indexed ? gather(b, r, v, path, args[1])
                                               : compute(r, x, args));
  }
  return *r.memo.find(key(root, root_path));
}

ValueId Lowering::compute(Region& r, const Value& x, const ValueId* args) {
  if (x.op == Op::cast) {
    const ValueId y = cast(r, args[0], x.dtype);  // an explicit cast to a 16-bit float rounds
    return cast(r, y, compute_type(x.dtype));
  }
  const ValueId y =
      push(r, {Code::op, x.op, compute_type(x.dtype), 0, args[0], args[1], args[2], x.accuracy});
  return is_half(x.dtype) && options_.exact_casts ? rounded(r, y, x.dtype) : y;
}

ValueId Lowering::rounded(Region& r, ValueId v, DType half) {
  return cast(r, cast(r, v, half), DType::float32);
}

}  // namespace lazy::jit
