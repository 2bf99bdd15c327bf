// Turns dimensions into axes: neighbours that every operand walks as one are merged, and what is relied on
// becomes a guard.
#include "jit/lower/lowering.hpp"
#include "jit/plan/names.hpp"
#include "support/error.hpp"

namespace lazy::jit {

void Lowering::finish(Building& b, const Group& group) {
  const auto step = static_cast<uint32_t>(p_.steps.size());  // renumbered by number_guards()
  std::vector<OperandLayout> layouts(b.operands.size());
  for (size_t i = 0; i < b.operands.size(); ++i)
    if (!b.operands[i].packed) operand_layout(p_, b.step, b.operands[i].binding, *t_.captured, layouts[i]);

  // Merge neighbours that every operand walks as one.
  std::vector<uint8_t> axis(static_cast<size_t>(b.dims), 0);
  int axes = 0;
  for (int d = 0; d < b.dims; ++d) {
    axis[static_cast<size_t>(d)] = static_cast<uint8_t>(axes);
    if (d + 1 == b.dims || !mergeable(b, d, layouts)) ++axes;
    else
      for (size_t i = 0; i < b.operands.size(); ++i)
        if (!b.operands[i].packed) layout_guard(Guard::Kind::collapsible, step, i, d, 1);
  }
  LoopKernel& k = b.kernel;
  k.rank = static_cast<uint8_t>(axes);
  k.sequential =
      b.sequential_dim < 0 ? int8_t{-1} : static_cast<int8_t>(axis[static_cast<size_t>(b.sequential_dim)]);
  for (size_t i = 0; i < b.operands.size(); ++i)
    k.operands.push_back(classify(b, i, axis, axes, layouts[i], step));

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
  if (b.step.label.empty()) b.step.label = label(group);
  b.step.named_by = at(group.roots.back()).node;
  k.name = step_name(b.step, t_.captured);
  k.at = step_line(b.step, t_.captured);
  b.step.group = b.group;
  b.step.axis_of = axis;
  b.step.sequential = k.sequential;
  b.step.args = loop::layout_of(k);
  for (Operand& o : b.operands) b.step.operands.push_back(o.binding);
  group_of_step_.push_back(b.group);
  p_.steps.push_back(std::move(b.step));
  out_.push_back(std::move(k));
}

bool Lowering::mergeable(const Building& b, int d, const std::vector<OperandLayout>& layouts) const {
  if (d == b.sequential_dim || d + 1 == b.sequential_dim || (b.fixed_dims >> d & 3)) return false;
  const KernelDim& next = b.step.dims[static_cast<size_t>(d + 1)];
  for (size_t i = 0; i < b.operands.size(); ++i) {
    const Operand& o = b.operands[i];
    if (o.packed) {
      const auto& place = o.place;
      const int64_t p = place[static_cast<size_t>(d)], q = place[static_cast<size_t>(d + 1)];
      if (!((p == 0 && q == 0) || (p != 0 && q == p + 1))) return false;
    } else if (options_.strict_layout ||
               layouts[i].stride[d] != layouts[i].stride[d + 1] * extent_of(next, *t_.captured)) {
      return false;
    }
  }
  return true;
}

void Lowering::layout_guard(Guard::Kind kind, uint32_t step, size_t operand, int dim, int64_t value) {
  p_.guards.push_back({kind, 0, step, static_cast<uint16_t>(operand), static_cast<uint16_t>(dim), value});
  layout_guards_.push_back(p_.guards.size() - 1);
}

loop::Operand Lowering::classify(Building& b, size_t i, const std::vector<uint8_t>& axis, int axes,
                                 const OperandLayout& l, uint32_t step) {
  Operand& o = b.operands[i];
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
    if (any) limit_offsets(out, i, last, packed_stride(b, o, last), step);
    return out;
  }
  for (int a = 0; a < axes; ++a) out.stride[a] = Stride::any;
  std::array<bool, loop::kMaxAxes> moves{};
  for (int d = 0; d < b.dims; ++d)
    moves[axis[static_cast<size_t>(d)]] |= o.binding.dim_of[d] != Binding::kAbsent;
  for (int a = 0; a < axes; ++a)
    if (!moves[static_cast<size_t>(a)]) out.stride[a] = Stride::zero;
  if (out.stride[axes - 1] == Stride::zero) return out;
  if (options_.strict_layout) {
    out.wide = true;
    return out;
  }
  if (l.stride[last] == 1) {
    out.stride[axes - 1] = Stride::unit;
    layout_guard(Guard::Kind::unit_stride, step, i, last, 1);
  } else if (l.stride[last] == 0 && !o.binding.output) {
    out.stride[axes - 1] = Stride::zero;
    layout_guard(Guard::Kind::broadcast, step, i, last, 0);
  } else {
    limit_offsets(out, i, last, l.stride[last], step);
    // Memory that is read side by side deserves a program that does; a product looks at strides itself.
    if (!o.binding.output && b.kernel.form != loop::Form::contract)
      layout_guard(Guard::Kind::unit_stride, step, i, last, 0);
  }
  return out;
}

int64_t Lowering::packed_stride(const Building& b, const Operand& o, int d) const {
  OperandLayout l;
  operand_layout(p_, b.step, o.binding, *t_.captured, l);
  return l.stride[d];
}

void Lowering::limit_offsets(loop::Operand& out, size_t i, int dim, int64_t stride, uint32_t step) {
  out.wide = options_.strict_layout || !fits_32bit(stride, out.dtype);
  if (!out.wide) layout_guard(Guard::Kind::stride_32bit, step, i, dim, 1);
}

std::string Lowering::label(const Group& group) const {
  constexpr const char* kinds[] = {"map", "reduce", "scan", "contract", "update", "call"};
  return std::string(kinds[static_cast<int>(group.kind)]) + "_" + name_of(at(group.roots.back()).op);
}

void Lowering::number_guards() {  // steps were made last to first
  const auto count = static_cast<uint32_t>(p_.steps.size());
  for (size_t i : layout_guards_) p_.guards[i].step = count - 1 - p_.guards[i].step;
  for (Slot& s : p_.slots)
    if (s.workspace_of != kNone) s.workspace_of = count - 1 - s.workspace_of;
  std::reverse(group_of_step_.begin(), group_of_step_.end());
}

}  // namespace lazy::jit
