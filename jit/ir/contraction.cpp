// Describes contractions: what their sides are made of, and which axis has the rows.
#include "jit/ir/contraction.hpp"

#include "jit/core/rules.hpp"

namespace lazy::jit::loop {
namespace {

/// Returns the axis before the columns if `right` is the same along it; else -1.
int8_t row_axis(const LoopKernel& k, ValueId right) {
  const int axis = axis_before_columns(k);
  return axis >= 0 && same_along(k, axis)[right] ? static_cast<int8_t>(axis) : int8_t{-1};
}

}  // namespace

DType result_type(const LoopKernel& k, size_t i) {
  if (k.form == Form::contract) return k.contraction.type;
  return result_type(k.reductions[i].op, k.reductions[i].type);
}

Side side_of(const LoopKernel& k, ValueId v) {
  Side s{v, v, Prologue::none};
  for (const Instr* in = &k.body[v]; in->code == Code::op && in->op == Op::cast; in = &k.body[s.load]) {
    if (in->a >= s.load) return {v, kNoValue, Prologue::computed};  // check() rejects the kernel
    s.load = in->a;
    s.prologue = s.prologue == Prologue::none ? Prologue::cast : Prologue::casts;
  }
  if (k.body[s.load].code != Code::load) return {v, kNoValue, Prologue::computed};
  return s;
}

Contraction contraction_of(const LoopKernel& k, ValueId left, ValueId right) {
  if (!same_along(k, k.rank - 1)[left]) std::swap(left, right);
  return {k.body[left].type, row_axis(k, right), side_of(k, left), side_of(k, right)};
}

}  // namespace lazy::jit::loop
