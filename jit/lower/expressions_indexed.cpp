// Loads and stores at a computed index: an index becomes an offset in elements by ordinary ops, so that
// backends know of no rule.
#include "jit/lower/expressions.hpp"

namespace lazy::jit {

/// Returns a scalar argument that no constant has, made once a kernel. `key` distinguishes it from others of
/// the same source, below 2^56.
ValueId Expressions::argument(Region& r, uint64_t key, const ScalarArgument& a) {
  const uint64_t derived = uint64_t{1} << 62 | static_cast<uint64_t>(a.source) << 56 | key;
  const auto [id, fresh] = b_.scalar_ids.try_emplace(derived, static_cast<uint16_t>(b_.step.scalars.size()));
  if (fresh) b_.step.scalars.push_back(a);
  return r.push({Code::scalar, {}, a.type, id});
}

/// Returns a small number, as an argument.
ValueId Expressions::number(Region& r, int64_t value, DType type) {
  ScalarArgument a;
  a.from = a.type = type;
  a.value = static_cast<uint64_t>(value);
  return argument(r, static_cast<uint64_t>(type) << 8 | (a.value & 0xff), a);
}

ValueId Expressions::extent(Region& r, uint32_t v, int dim, int64_t more) {
  ScalarArgument a;
  a.source = ScalarArgument::Source::extent;
  a.node = at(v).node;
  a.from = a.type = DType::int64;
  a.value = static_cast<uint64_t>(more);
  a.dim = static_cast<uint16_t>(dim);
  return argument(r, uint64_t{a.node} << 8 | static_cast<uint64_t>(dim) << 1 | (more != 0), a);
}

/// True if the axis that `v`, a gather or scatter, looks at an index of has one element, by the key.
bool Expressions::is_single(uint32_t v) const {
  return (at(at(v).operand[0]).ones >> indexed_of(draft_.node(v)).axis & 1) != 0;
}

/// Brings the index of `v`, a gather or scatter, into range by its rule.
InRange Expressions::in_range(Region& r, ValueId index, uint32_t v) {
  const Indexed how = indexed_of(draft_.node(v));
  const uint32_t whole = at(v).operand[0];
  const DType type = r.code[index].type;
  const auto op = [&](Op o, DType t, ValueId x, ValueId y, ValueId z = kNoValue) {
    return r.push({Code::op, o, t, 0, x, y, z});
  };
  if (is_bool(type) && how.bounds == Bounds::strict && is_single(v)) {
    InRange first;  // only false is in range
    first.bad = index;
    first.index = number(r, 0, DType::int64);
    return first;
  }
  const ValueId n = extent(r, whole, how.axis, 0), zero = number(r, 0, DType::int64);
  const auto is_below = [&](ValueId i) {  // also of what is negative: as unsigned that is a large number
    return op(Op::less, DType::bool_, r.cast(i, DType::uint64), r.cast(n, DType::uint64));
  };
  InRange in;
  in.index = r.cast(index, DType::int64);
  switch (how.bounds) {
    case Bounds::check:
    case Bounds::strict:
      if (how.bounds == Bounds::check && !is_unsigned_int(type))
        in.index = op(Op::where, DType::int64, op(Op::less, DType::bool_, in.index, zero),
                      op(Op::add, DType::int64, in.index, n), in.index);
      in.bad = op(Op::greater_equal, DType::bool_, r.cast(in.index, DType::uint64), r.cast(n, DType::uint64));
      in.index = op(Op::where, DType::int64, in.bad, zero, in.index);
      break;
    case Bounds::mask:
      in.good = is_below(in.index);
      in.index = op(Op::where, DType::int64, in.good, in.index, zero);
      break;
    case Bounds::wrap:
      if (type == DType::uint64)
        in.index = r.cast(op(Op::remainder, DType::uint64, index, r.cast(n, DType::uint64)), DType::int64);
      else in.index = op(Op::remainder, DType::int64, in.index, n);
      break;
    case Bounds::clip: {
      const ValueId last = extent(r, whole, how.axis, -1);
      if (type == DType::uint64)
        in.index = r.cast(op(Op::minimum, DType::uint64, index, r.cast(last, DType::uint64)), DType::int64);
      else in.index = op(Op::maximum, DType::int64, op(Op::minimum, DType::int64, in.index, last), zero);
    }
  }
  return in;
}

void Expressions::report_fault(Region& r, ValueId bad, uint32_t v) {
  draft_.checked[static_cast<size_t>(b_.group)].push_back(v);
  const auto [fault, fresh] =
      draft_.fault_of.try_emplace(v, static_cast<uint32_t>(draft_.program.faults.size()));
  if (fresh) draft_.program.faults.push_back(at(v).node);
  ScalarArgument a;
  a.source = ScalarArgument::Source::fault;
  a.from = a.type = DType::int64;
  a.value = fault;
  const ValueId flag = argument(r, fault, a);
  r.push({Code::check, {}, DType::bool_, r.code[flag].imm, bad});
}

/// Returns how many elements on from where the operand is at the current index. `unit`: neighbours along the
/// axis lie side by side.
ValueId Expressions::offset(Region& r, ValueId index, uint16_t operand, bool unit) {
  if (unit) return index;
  ScalarArgument a;
  a.source = ScalarArgument::Source::stride;
  a.from = a.type = DType::int64;
  a.dim = operand;
  return r.push({Code::op, Op::multiply, DType::int64, 0, index, argument(r, operand, a)});
}

ValueId Expressions::gather(Region& r, uint32_t v, uint32_t path, ValueId index) {
  uint32_t from = at(v).operand[0], p = draft_.extend(path, v, false);
  for (; !draft_.in_memory(from); from = at(from).operand[0]) p = draft_.extend(p, from, false);
  const InRange in = in_range(r, index, v);
  if (in.bad != kNoValue && !checked_before_) report_fault(r, in.bad, v);
  const uint16_t o = operand(r, from, p, false);
  const DType type = compute_type(at(v).dtype);
  if (is_single(v) && in.good == kNoValue)  // whatever index is in range
    return r.cast(r.push({Code::load, {}, at(v).dtype, o}), type);
  const Places m = draft_.places(p, from);
  const ValueId on = offset(r, in.index, o, b_.operands[o].packed && m.indexed > 0 && m.indexed == m.source);
  const ValueId x = r.cast(r.push({Code::load_at, {}, at(v).dtype, o, on}), type);
  if (in.good == kNoValue) return x;
  return r.push({Code::op, Op::where, type, 0, in.good, x, number(r, 0, type)});
}

}  // namespace lazy::jit
