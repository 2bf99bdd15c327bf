#include "backends/cpu/packing/contraction.hpp"

namespace lazy::cpu_backend {
using jit::loop::Code;
using jit::loop::Instr;
using jit::loop::LoopKernel;
using jit::loop::Stride;
using jit::loop::ValueId;
namespace {

bool small_int(DType t) {
  return t == DType::int8 || t == DType::uint8 || t == DType::int16 || t == DType::uint16;
}
bool word_int(DType t) { return t == DType::int32 || t == DType::uint32; }

/// A load, or one widened without loss to what is accumulated.
ContractionSide side(const LoopKernel& k, ValueId v) {
  const Instr* in = &k.body[v];
  const DType to = in->type;
  if (in->code == Code::op && in->op == jit::Op::cast) in = &k.body[in->a];
  if (in->code != Code::load) return {};
  const DType from = in->type;
  const bool fits = from == to || (to == DType::float32 && is_half(from)) ||
                    (word_int(to) && small_int(from)) || (word_int(to) && word_int(from));
  return fits && !is_half(to) ? ContractionSide{in->imm, from} : ContractionSide{};
}

}  // namespace

std::optional<ContractionForm> contraction_form(const LoopKernel& k, int row_axis) {
  if (k.form != jit::loop::Form::reduce || k.reductions.size() != 1 || k.sequential == k.rank - 1) return {};
  const auto& r = k.reductions[0];
  if (r.op != jit::Op::matmul) return {};
  ContractionForm f;
  f.row_axis = row_axis;
  f.left = side(k, r.value);
  f.right = side(k, r.value2);
  if (f.left.operand < 0 || f.right.operand < 0) return {};
  const auto moves = [&](const ContractionSide& s, int axis) {
    return axis >= 0 && k.operands[static_cast<size_t>(s.operand)].stride[axis] != Stride::zero;
  };
  const auto fits = [&] { return !moves(f.left, k.rank - 1) && !moves(f.right, row_axis); };
  if (!fits()) std::swap(f.left, f.right);
  if (!fits()) return {};
  const auto in_pairs = [](DType t) { return small_int(t) && t != DType::uint16; };
  if (r.type == DType::float32) f.lane = ContractionLane::f32;
  else if (r.type == DType::float64) f.lane = ContractionLane::f64;
  else if (!word_int(r.type) && !small_int(r.type)) return {};
  else
    f.lane = in_pairs(f.left.from) && in_pairs(f.right.from) ? ContractionLane::pairs : ContractionLane::i32;
  return f;
}

}  // namespace lazy::cpu_backend
