#include "backends/cuda/emitter/tiles.hpp"

namespace lazy::cuda_backend {
using jit::loop::LoopKernel;
using jit::loop::Prologue;
using jit::loop::Side;

bool has_tiles(const LoopKernel& k) {
  const auto loaded = [](const Side& s) {
    return s.prologue == Prologue::none || s.prologue == Prologue::cast;
  };
  const jit::loop::Contraction& c = k.contraction;
  return k.form == jit::loop::Form::contract && c.row >= 0 && loaded(c.left) && loaded(c.right);
}

int operand_of(const LoopKernel& k, const Side& s) { return k.body[s.load].imm; }

bool fits_tensor_cores(const LoopKernel& k) {
  if (!has_tiles(k) || k.contraction.type != DType::float32) return false;
  const DType left = k.body[k.contraction.left.load].type, right = k.body[k.contraction.right.load].type;
  return left == right && is_half(left);
}

}  // namespace lazy::cuda_backend
