// Makes kernels that write at computed indices, and steps that only look at indices.
#include "jit/lower/expressions.hpp"

namespace lazy::jit {
namespace {

// Adds the updates' dimensions in order, of which the scattered one is there even if its extent is 1.
void scatter_dims(LowerDraft& draft, Building& b, uint32_t v) {
  const uint32_t updates = draft.at(v).operand[2];
  const Shape& s = draft.shape(updates);
  const int axis = indexed_of(draft.node(v)).axis;
  int8_t places = 0;
  if (s[axis] == 1) {
    b.sequential_dim = b.dims;
    b.add_dim(kNone, 0);
  }
  for (int i = 0; i < s.size(); ++i) {
    if (s[i] == 1) continue;
    if (i == axis) b.sequential_dim = b.dims;
    b.body.dims.of[b.dims] = places++;
    b.add_dim(draft.at(updates).node, i);
  }
}

/// True if a scatter's indices are looked at by a step before it: so it may write to an input. Where its base
/// is made in the program, nothing is lost by a scatter that is given up halfway.
bool is_checked_before(const LowerDraft& draft, uint32_t v) {
  return draft.at(draft.at(v).operand[0]).op == Op::input;
}

}  // namespace

void lower_scatter(LowerDraft& draft, Building& b, const Group& group) {
  const uint32_t v = group.roots[0], base = draft.at(v).operand[0];
  Expressions x(draft, b);
  scatter_dims(draft, b, v);
  b.kernel.form = loop::Form::scatter;
  // Where lower_check makes a step, it finds whether an index is out of range, this one's or one of a gather
  // in it: a step that throws nothing may take over the base's memory.
  x.set_checked_before(may_throw(indexed_of(draft.node(v)).bounds) && is_checked_before(draft, v));
  const ValueId index = x.evaluate(b.body, draft.at(v).operand[1], 0);
  x.set_checked_before(false);
  const ValueId update = x.evaluate(b.body, draft.at(v).operand[2], 0);
  const ValueId value = b.body.cast(update, draft.at(v).dtype);
  const uint16_t out = add_updated(draft, b, b.body, v);
  b.operands[out].binding.dim_of[b.sequential_dim] = Binding::kAbsent;
  InRange in = x.in_range(b.body, index, v);
  if (in.bad != kNoValue && !is_checked_before(draft, v)) x.report_fault(b.body, in.bad, v);
  const auto axis = static_cast<uint32_t>(indexed_of(draft.node(v)).axis);
  bool unit = true;  // by the key: no extent after the axis is other than 1
  for (int i = static_cast<int>(axis) + 1; i < draft.at(v).rank; ++i)
    unit &= (draft.at(v).ones >> i & 1) != 0;
  ValueId on = x.offset(b.body, in.index, out, unit);
  const ValueId none = x.number(b.body, -1, DType::int64);
  if (in.bad != kNoValue) on = b.body.push({Code::op, Op::where, DType::int64, 0, in.bad, none, on});
  if (in.good != kNoValue) on = b.body.push({Code::op, Op::where, DType::int64, 0, in.good, on, none});
  b.kernel.stores.push_back({out, value, on, combining_op(indexed_of(draft.node(v)).combine)});
  start_from(draft, b, base);
}

void lower_check(LowerDraft& draft, const Group& group, int g) {
  const uint32_t v = group.roots[0];
  if (draft.at(v).op != Op::scatter || !may_throw(indexed_of(draft.node(v)).bounds) ||
      !is_checked_before(draft, v))
    return;
  lower_index_check(draft, v, g, group);
}

void lower_index_check(LowerDraft& draft, uint32_t v, int g, const Group& group) {
  uint32_t index = draft.at(v).operand[1];
  const auto repeats = [&](uint32_t w) {
    return draft.at(w).op == Op::broadcast ||
           (draft.at(w).op == Op::reshape && is_unit_reshape(draft.node(w)));
  };
  while (!draft.in_memory(index) && repeats(index)) index = draft.at(index).operand[0];
  Building b(g);
  Expressions x(draft, b);
  map_dims(draft, b, index);
  const InRange in = x.in_range(b.body, x.evaluate(b.body, index, 0), v);
  x.report_fault(b.body, in.bad, v);
  b.kernel.form = loop::Form::map;
  b.step.label = std::string("check_") + name_of(draft.at(v).op);
  finish_kernel(draft, b, group);
}

}  // namespace lazy::jit
