#include "backends/cpu/packing/contraction.hpp"

namespace lazy::cpu_backend {
using jit::loop::Instr;
using jit::loop::LoopKernel;
using jit::loop::Prologue;
using jit::loop::Side;
namespace {

bool small_int(DType t) {
  return t == DType::int8 || t == DType::uint8 || t == DType::int16 || t == DType::uint16;
}
bool word_int(DType t) { return t == DType::int32 || t == DType::uint32; }

/// Returns the operand of a side that is a load, perhaps widened without loss to what is accumulated; no
/// operand for other sides.
ContractionSide side(const LoopKernel& k, const Side& s) {
  if (s.prologue != Prologue::none && s.prologue != Prologue::cast) return {};
  const Instr& load = k.body[s.load];
  const DType from = load.type, to = k.contraction.type;
  const bool fits = from == to || (to == DType::float32 && (is_half(from) || small_int(from))) ||
                    (to == DType::float64 && (from == DType::float32 || small_int(from) || word_int(from))) ||
                    (word_int(to) && small_int(from)) || (word_int(to) && word_int(from));
  return fits ? ContractionSide{load.imm, from} : ContractionSide{};
}

}  // namespace

std::optional<ContractionForm> contraction_form(const LoopKernel& k) {
  const jit::loop::Contraction& c = k.contraction;
  ContractionForm f;
  f.row_axis = c.row;
  f.left = side(k, c.left);
  f.right = side(k, c.right);
  if (f.left.operand < 0 || f.right.operand < 0) return {};
  const auto in_pairs = [](DType t) { return small_int(t) && t != DType::uint16; };
  if (c.type == DType::float32) f.lane = ContractionLane::f32;
  else if (c.type == DType::float64) f.lane = ContractionLane::f64;
  else if (!word_int(c.type) && !small_int(c.type)) return {};
  else
    f.lane = in_pairs(f.left.from) && in_pairs(f.right.from) ? ContractionLane::pairs : ContractionLane::i32;
  return f;
}

}  // namespace lazy::cpu_backend
