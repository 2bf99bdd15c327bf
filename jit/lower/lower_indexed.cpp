// Loads and stores at a computed index: an index becomes an offset in elements by ordinary ops, so that
// backends know of no rule.
#include "jit/lower/lowering.hpp"

namespace lazy::jit {

/// Returns a scalar argument that no constant has, made once a kernel. `key` distinguishes it from others of
/// the same source, below 2^56.
ValueId Lowering::argument(Building& b, Region& r, uint64_t key, const ScalarArgument& a) {
  const uint64_t derived = uint64_t{1} << 62 | static_cast<uint64_t>(a.source) << 56 | key;
  const auto [id, fresh] = b.scalar_ids.try_emplace(derived, static_cast<uint16_t>(b.step.scalars.size()));
  if (fresh) b.step.scalars.push_back(a);
  return push(r, {Code::scalar, {}, a.type, id});
}

/// Returns a small number, as an argument.
ValueId Lowering::number(Building& b, Region& r, int64_t value, DType type) {
  ScalarArgument a;
  a.from = a.type = type;
  a.value = static_cast<uint64_t>(value);
  return argument(b, r, static_cast<uint64_t>(type) << 8 | (a.value & 0xff), a);
}

ValueId Lowering::extent(Building& b, Region& r, uint32_t v, int dim, int64_t more) {
  ScalarArgument a;
  a.source = ScalarArgument::Source::extent;
  a.node = at(v).node;
  a.from = a.type = DType::int64;
  a.value = static_cast<uint64_t>(more);
  a.dim = static_cast<uint16_t>(dim);
  return argument(b, r, uint64_t{a.node} << 8 | static_cast<uint64_t>(dim) << 1 | (more != 0), a);
}

/// True if the axis that `v`, a gather or scatter, looks at an index of has one element, by the key.
bool Lowering::is_single(uint32_t v) const {
  return (at(at(v).operand[0]).ones >> indexed_of(t_.node(v)).axis & 1) != 0;
}

/// Brings the index of `v`, a gather or scatter, into range by its rule.
Lowering::InRange Lowering::in_range(Building& b, Region& r, ValueId index, uint32_t v) {
  const Indexed how = indexed_of(t_.node(v));
  const uint32_t whole = at(v).operand[0];
  const DType type = r.code[index].type;
  const auto op = [&](Op o, DType t, ValueId x, ValueId y, ValueId z = kNoValue) {
    return push(r, {Code::op, o, t, 0, x, y, z});
  };
  if (is_bool(type) && how.bounds == Bounds::strict && is_single(v)) {
    InRange first;  // only false is in range
    first.bad = index;
    first.index = number(b, r, 0, DType::int64);
    return first;
  }
  const ValueId n = extent(b, r, whole, how.axis, 0), zero = number(b, r, 0, DType::int64);
  const auto is_below = [&](ValueId i) {  // also of what is negative: as unsigned that is a large number
    return op(Op::less, DType::bool_, cast(r, i, DType::uint64), cast(r, n, DType::uint64));
  };
  InRange in;
  in.index = cast(r, index, DType::int64);
  switch (how.bounds) {
    case Bounds::check:
    case Bounds::strict:
      if (how.bounds == Bounds::check && !is_unsigned_int(type))
        in.index = op(Op::where, DType::int64, op(Op::less, DType::bool_, in.index, zero),
                      op(Op::add, DType::int64, in.index, n), in.index);
      in.bad =
          op(Op::greater_equal, DType::bool_, cast(r, in.index, DType::uint64), cast(r, n, DType::uint64));
      in.index = op(Op::where, DType::int64, in.bad, zero, in.index);
      break;
    case Bounds::mask:
      in.good = is_below(in.index);
      in.index = op(Op::where, DType::int64, in.good, in.index, zero);
      break;
    case Bounds::wrap:
      if (type == DType::uint64)
        in.index = cast(r, op(Op::remainder, DType::uint64, index, cast(r, n, DType::uint64)), DType::int64);
      else in.index = op(Op::remainder, DType::int64, in.index, n);
      break;
    case Bounds::clip: {
      const ValueId last = extent(b, r, whole, how.axis, -1);
      if (type == DType::uint64)
        in.index = cast(r, op(Op::minimum, DType::uint64, index, cast(r, last, DType::uint64)), DType::int64);
      else in.index = op(Op::maximum, DType::int64, op(Op::minimum, DType::int64, in.index, last), zero);
    }
  }
  return in;
}

void Lowering::report_fault(Building& b, Region& r, ValueId bad, uint32_t v) {
  checked_[static_cast<size_t>(b.group)].push_back(v);
  const auto [fault, fresh] = fault_of_.try_emplace(v, static_cast<uint32_t>(p_.faults.size()));
  if (fresh) p_.faults.push_back(at(v).node);
  ScalarArgument a;
  a.source = ScalarArgument::Source::fault;
  a.from = a.type = DType::int64;
  a.value = fault;
  const ValueId flag = argument(b, r, fault, a);
  push(r, {Code::check, {}, DType::bool_, r.code[flag].imm, bad});
}

/// Returns how many elements on from where the operand is at the current index. `unit`: neighbours along the
/// axis lie side by side.
ValueId Lowering::offset(Building& b, Region& r, ValueId index, uint16_t operand, bool unit) {
  if (unit) return index;
  ScalarArgument a;
  a.source = ScalarArgument::Source::stride;
  a.from = a.type = DType::int64;
  a.dim = operand;
  return push(r, {Code::op, Op::multiply, DType::int64, 0, index, argument(b, r, operand, a)});
}

ValueId Lowering::gather(Building& b, Region& r, uint32_t v, uint32_t path, ValueId index) {
  uint32_t from = at(v).operand[0], p = extend(path, v, false);
  for (; !in_memory(from); from = at(from).operand[0]) p = extend(p, from, false);
  const InRange in = in_range(b, r, index, v);
  if (in.bad != kNoValue && !checked_before_) report_fault(b, r, in.bad, v);
  const uint16_t o = operand(b, r, from, p, false);
  const DType type = compute_type(at(v).dtype);
  if (is_single(v) && in.good == kNoValue)  // whatever index is in range
    return cast(r, push(r, {Code::load, {}, at(v).dtype, o}), type);
  const Places m = places(p, from);
  const ValueId on =
      offset(b, r, in.index, o, b.operands[o].packed && m.indexed > 0 && m.indexed == m.source);
  const ValueId x = cast(r, push(r, {Code::load_at, {}, at(v).dtype, o, on}), type);
  if (in.good == kNoValue) return x;
  return push(r, {Code::op, Op::where, type, 0, in.good, x, number(b, r, 0, type)});
}

// Adds the updates' dimensions in order, of which the scattered one is there even if its extent is 1.
void Lowering::scatter_dims(Building& b, uint32_t v) {
  const uint32_t updates = at(v).operand[2];
  const Shape& s = shape(updates);
  const int axis = indexed_of(t_.node(v)).axis;
  int8_t places = 0;
  if (s[axis] == 1) {
    b.sequential_dim = b.dims;
    add_dim(b, kNone, 0);
  }
  for (int i = 0; i < s.size(); ++i) {
    if (s[i] == 1) continue;
    if (i == axis) b.sequential_dim = b.dims;
    b.body.dims.of[b.dims] = places++;
    add_dim(b, updates, i);
  }
}

void Lowering::lower_scatter(Building& b, const Group& group) {
  const uint32_t v = group.roots[0], base = at(v).operand[0];
  scatter_dims(b, v);
  b.kernel.form = loop::Form::scatter;
  // Where lower_check makes a step, it finds whether an index is out of range, this one's or one of a gather
  // in it: a step that throws nothing may take over the base's memory.
  checked_before_ = may_throw(indexed_of(t_.node(v)).bounds) && is_checked_before(v);
  const ValueId index = evaluate(b, b.body, at(v).operand[1], 0);
  checked_before_ = false;
  const ValueId update = evaluate(b, b.body, at(v).operand[2], 0);
  const ValueId value = cast(b.body, update, at(v).dtype);
  const uint16_t out = add_updated(b, v);
  b.operands[out].binding.dim_of[b.sequential_dim] = Binding::kAbsent;
  InRange in = in_range(b, b.body, index, v);
  if (in.bad != kNoValue && !is_checked_before(v)) report_fault(b, b.body, in.bad, v);
  const auto axis = static_cast<uint32_t>(indexed_of(t_.node(v)).axis);
  bool unit = true;  // by the key: no extent after the axis is other than 1
  for (int i = static_cast<int>(axis) + 1; i < at(v).rank; ++i) unit &= (at(v).ones >> i & 1) != 0;
  ValueId on = offset(b, b.body, in.index, out, unit);
  const ValueId none = number(b, b.body, -1, DType::int64);
  if (in.bad != kNoValue) on = push(b.body, {Code::op, Op::where, DType::int64, 0, in.bad, none, on});
  if (in.good != kNoValue) on = push(b.body, {Code::op, Op::where, DType::int64, 0, in.good, on, none});
  b.kernel.stores.push_back({out, value, on, combining_op(indexed_of(t_.node(v)).combine)});
  start_from(b, base);
}

/// True if a scatter's indices are looked at by a step before it: so it may write to an input. Where its base
/// is made in the program, nothing is lost by a scatter that is given up halfway.
bool Lowering::is_checked_before(uint32_t v) const { return at(at(v).operand[0]).op == Op::input; }

/// Makes the step that only looks at a scatter's indices.
void Lowering::lower_check(const Group& group, int g) {
  const uint32_t v = group.roots[0];
  if (at(v).op != Op::scatter || !may_throw(indexed_of(t_.node(v)).bounds) || !is_checked_before(v)) return;
  lower_index_check(v, g, group);
}

/// Makes a step that only looks at the indices of `v`, a gather or scatter of group g.
void Lowering::lower_index_check(uint32_t v, int g, const Group& group) {
  uint32_t index = at(v).operand[1];
  const auto repeats = [&](uint32_t w) {
    return at(w).op == Op::broadcast || (at(w).op == Op::reshape && is_unit_reshape(t_.node(w)));
  };
  while (!in_memory(index) && repeats(index)) index = at(index).operand[0];
  Building b;
  b.group = g;
  map_dims(b, index);
  const InRange in = in_range(b, b.body, evaluate(b, b.body, index, 0), v);
  report_fault(b, b.body, in.bad, v);
  b.kernel.form = loop::Form::map;
  b.step.label = std::string("check_") + name_of(at(v).op);
  finish(b, group);
}

}  // namespace lazy::jit
