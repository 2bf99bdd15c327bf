// Turns dimensions into axes: neighbours that every operand walks as one are merged, and what is relied on
// becomes a guard.
#include "jit/lower/lower_draft.hpp"
#include "jit/plan/names.hpp"
#include "support/error.hpp"

namespace lazy::jit {

namespace {

bool mergeable(const LowerDraft& draft, const Building& b, int d, const std::vector<OperandLayout>& layouts) {
  if (d == b.sequential_dim || d + 1 == b.sequential_dim || (b.fixed_dims >> d & 3)) return false;
  const KernelDim& next = b.step.dims[static_cast<size_t>(d + 1)];
  for (size_t i = 0; i < b.operands.size(); ++i) {
    const BuildingOperand& o = b.operands[i];
    if (o.packed) {
      const auto& place = o.place;
      const int64_t p = place[static_cast<size_t>(d)], q = place[static_cast<size_t>(d + 1)];
      if (!((p == 0 && q == 0) || (p != 0 && q == p + 1))) return false;
    } else if (draft.options.strict_layout ||
               layouts[i].stride[d] != layouts[i].stride[d + 1] * extent_of(next, *draft.trace.captured)) {
      return false;
    }
  }
  return true;
}

void layout_guard(LowerDraft& draft, Guard::Kind kind, uint32_t step, size_t operand, int dim,
                  int64_t value) {
  draft.program.guards.push_back(
      {kind, 0, step, static_cast<uint16_t>(operand), static_cast<uint16_t>(dim), value});
  draft.layout_guards.push_back(draft.program.guards.size() - 1);
}

int64_t packed_stride(const LowerDraft& draft, const Building& b, const BuildingOperand& o, int d) {
  OperandLayout l;
  operand_layout(draft.program, b.step, o.binding, *draft.trace.captured, l);
  return l.stride[d];
}

void limit_offsets(LowerDraft& draft, loop::Operand& out, size_t i, int dim, int64_t stride, uint32_t step) {
  out.wide = draft.options.strict_layout || !fits_32bit(stride, out.dtype);
  if (!out.wide) layout_guard(draft, Guard::Kind::stride_32bit, step, i, dim, 1);
}

loop::Operand classify(LowerDraft& draft, Building& b, size_t i, const std::vector<uint8_t>& axis, int axes,
                       const OperandLayout& l, uint32_t step) {
  BuildingOperand& o = b.operands[i];
  loop::Operand out;
  out.dtype = o.binding.dtype;
  out.output = o.binding.output;
  const int last = b.dims - 1;
  bool known = true;
  if (o.packed) {
    const auto& place = o.place;
    for (int d = 0; d < b.dims; ++d) {  // the innermost dimension of a merged axis decides, and is met last
      const int64_t p = place[static_cast<size_t>(d)];
      out.stride[axis[static_cast<size_t>(d)]] = p == 0 ? Stride::zero : Stride::any;
    }
    if (place[static_cast<size_t>(last)] != 0 && place[static_cast<size_t>(last)] == o.places)
      out.stride[axes - 1] = Stride::unit;
    for (int a = 0; a < axes; ++a) known &= out.stride[a] != Stride::any;
    o.binding.known_strides = known;
    o.binding.moves = out.stride[axes - 1] == Stride::unit;
    const bool any = out.stride[axes - 1] == Stride::any;
    if (any) limit_offsets(draft, out, i, last, packed_stride(draft, b, o, last), step);
    return out;
  }
  for (int a = 0; a < axes; ++a) out.stride[a] = Stride::any;
  std::array<bool, loop::kMaxAxes> moves{};
  for (int d = 0; d < b.dims; ++d)
    moves[axis[static_cast<size_t>(d)]] |=
        o.binding.dim_of[d] != Binding::kAbsent && (out.output || o.place[static_cast<size_t>(d)] != 0);
  for (int a = 0; a < axes; ++a)
    if (!moves[static_cast<size_t>(a)]) out.stride[a] = Stride::zero;
  if (out.stride[axes - 1] == Stride::zero) return out;
  if (draft.options.strict_layout) {
    out.wide = true;
    return out;
  }
  if (l.stride[last] == 1) {
    out.stride[axes - 1] = Stride::unit;
    layout_guard(draft, Guard::Kind::unit_stride, step, i, last, 1);
  } else if (l.stride[last] == 0 && !o.binding.output) {
    out.stride[axes - 1] = Stride::zero;
    layout_guard(draft, Guard::Kind::broadcast, step, i, last, 0);
  } else {
    limit_offsets(draft, out, i, last, l.stride[last], step);
    // Memory that is read side by side deserves a program that does; a product looks at strides itself.
    if (!o.binding.output && b.kernel.form != loop::Form::contract)
      layout_guard(draft, Guard::Kind::unit_stride, step, i, last, 0);
  }
  return out;
}

std::string label(const LowerDraft& draft, const Group& group) {
  constexpr const char* kinds[] = {"map", "reduce", "scan", "contract", "update", "call"};
  return std::string(kinds[static_cast<int>(group.kind)]) + "_" + name_of(draft.at(group.roots.back()).op);
}

}  // namespace

void finish_kernel(LowerDraft& draft, Building& b, const Group& group) {
  const auto step = static_cast<uint32_t>(draft.program.steps.size());  // renumbered by number_guards()
  std::vector<OperandLayout> layouts(b.operands.size());
  for (size_t i = 0; i < b.operands.size(); ++i)
    if (!b.operands[i].packed)
      operand_layout(draft.program, b.step, b.operands[i].binding, *draft.trace.captured, layouts[i]);

  // Merge neighbours that every operand walks as one.
  std::vector<uint8_t> axis(static_cast<size_t>(b.dims), 0);
  int axes = 0;
  for (int d = 0; d < b.dims; ++d) {
    axis[static_cast<size_t>(d)] = static_cast<uint8_t>(axes);
    if (d + 1 == b.dims || !mergeable(draft, b, d, layouts)) ++axes;
    else
      for (size_t i = 0; i < b.operands.size(); ++i)
        if (!b.operands[i].packed) layout_guard(draft, Guard::Kind::collapsible, step, i, d, 1);
  }
  LoopKernel& k = b.kernel;
  k.rank = static_cast<uint8_t>(axes);
  k.sequential =
      b.sequential_dim < 0 ? int8_t{-1} : static_cast<int8_t>(axis[static_cast<size_t>(b.sequential_dim)]);
  for (size_t i = 0; i < b.operands.size(); ++i)
    k.operands.push_back(classify(draft, b, i, axis, axes, layouts[i], step));

  k.epilogue = static_cast<uint16_t>(b.body.code.size());
  const auto shift = static_cast<ValueId>(b.body.code.size());
  if (b.body.code.size() + b.epilogue.code.size() >= kNoValue)
    throw CompileError("a fused kernel grew past 65535 instructions");
  k.body = std::move(b.body.code);
  for (Instr i : b.epilogue.code) {
    if (i.a != kNoValue) i.a = static_cast<ValueId>(i.a + shift);
    if (i.b != kNoValue) i.b = static_cast<ValueId>(i.b + shift);
    if (i.c != kNoValue) i.c = static_cast<ValueId>(i.c + shift);
    k.body.push_back(i);
  }
  if (k.has_epilogue())
    for (size_t i = b.body_stores; i < k.stores.size(); ++i)
      k.stores[i].value = static_cast<ValueId>(k.stores[i].value + shift);
  for (Instr& i : k.body) {
    if (i.code == Code::iota) i.imm = axis[i.imm];
    if (i.code == Code::op) ++b.step.ops;
    if (i.code == Code::check) b.step.fallible = b.step.may_throw = true;
  }
  if (k.form == loop::Form::contract) k.contraction = loop::contraction_of(k, b.left, b.right);
  for (const loop::RolledLoop& r : k.rolled_loops)
    for (size_t i = r.first; i < r.last; ++i)
      b.step.ops += (k.body[i].code == Code::op) * (b.step.scalars[r.trips].value - 1);
  if (b.step.scalars.size() >= kNoValue)
    throw CompileError("a fused kernel grew past 65535 scalar arguments");
  k.scalars = static_cast<uint16_t>(b.step.scalars.size());
  if (b.step.label.empty()) b.step.label = label(draft, group);
  b.step.named_by = draft.at(group.roots.back()).node;
  k.name = step_name(b.step, draft.trace.captured);
  k.at = step_line(b.step, draft.trace.captured);
  b.step.group = b.group;
  b.step.axis_of = axis;
  b.step.sequential = k.sequential;
  b.step.args = loop::layout_of(k);
  for (BuildingOperand& o : b.operands) b.step.operands.push_back(o.binding);
  draft.group_of_step.push_back(b.group);
  draft.program.steps.push_back(std::move(b.step));
  draft.kernels.push_back(std::move(k));
}

void number_guards(LowerDraft& draft) {  // steps were made last to first
  const auto count = static_cast<uint32_t>(draft.program.steps.size());
  for (size_t i : draft.layout_guards)
    draft.program.guards[i].step = count - 1 - draft.program.guards[i].step;
  for (Slot& s : draft.program.slots)
    if (s.workspace_of != kNone) s.workspace_of = count - 1 - s.workspace_of;
  std::reverse(draft.group_of_step.begin(), draft.group_of_step.end());
}

}  // namespace lazy::jit
