#include "backends/cuda/emitter/tiles.hpp"

#include <utility>

namespace lazy::cuda_backend {
using jit::loop::Code;
using jit::loop::LoopKernel;
using jit::loop::Stride;
using jit::loop::ValueId;

int side_operand(const LoopKernel& k, ValueId v) {
  const auto* in = &k.body[v];
  if (in->code == Code::op && in->op == jit::Op::cast) in = &k.body[in->a];
  return in->code == Code::load ? in->imm : -1;
}

std::optional<TileForm> tile_form(const LoopKernel& k) {
  if (k.form != jit::loop::Form::reduce || k.reductions.size() != 1) return {};
  const auto& r = k.reductions[0];
  if (r.op != jit::Op::matmul) return {};
  TileForm f{r.value, r.value2};
  for (int a = 0; a < k.rank; ++a)
    if (a != k.sequential) f.row_axis = std::exchange(f.column_axis, a);
  const int left = side_operand(k, f.left), right = side_operand(k, f.right);
  if (f.row_axis < 0 || left < 0 || right < 0) return {};
  const auto moves = [&](int operand, int axis) {
    return k.operands[static_cast<size_t>(operand)].stride[axis] != Stride::zero;
  };
  if (!moves(left, f.column_axis) && !moves(right, f.row_axis)) return f;
  if (moves(right, f.column_axis) || moves(left, f.row_axis)) return {};
  std::swap(f.left, f.right);
  return f;
}

}  // namespace lazy::cuda_backend
