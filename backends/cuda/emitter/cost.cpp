#include "backends/cuda/emitter/cost.hpp"

#include <set>

#include "jit/core/op.hpp"

namespace lazy::cuda_backend {
using jit::loop::Code;

int cost_of(const jit::loop::LoopKernel& k, size_t first, size_t last) {
  int cost = 0;
  for (size_t i = first; i < last; ++i) {
    const auto& in = k.body[i];
    if (in.code != Code::op) continue;
    const int units = static_cast<int>(jit::cost_of(in.op));
    const bool is_wide = size_of(in.type) == 8;
    // A unit of an elementary function is about six instructions; float64 has longer polynomials.
    cost += units == 1 ? (is_wide ? 2 : 1) : units * (is_wide ? 12 : 6);
  }
  return cost;
}

int count_loads(const jit::loop::LoopKernel& k, size_t first, size_t last, int sequential) {
  std::set<uint16_t> operands;
  for (size_t i = first; i < last; ++i) {
    const auto& in = k.body[i];
    if (in.code != Code::load) continue;
    if (sequential >= 0 && k.operands[in.imm].stride[sequential] == jit::loop::Stride::zero) continue;
    operands.insert(in.imm);
  }
  return static_cast<int>(operands.size());
}

}  // namespace lazy::cuda_backend
