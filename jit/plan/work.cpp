#include "jit/plan/work.hpp"

#include <algorithm>
#include <cstdlib>

#include "jit/plan/program.hpp"

namespace lazy::jit {

Work work_of(const loop::LoopKernel& k, const std::vector<uint64_t>& trips) {
  const auto flops = [](const loop::Instr& i) {
    if (i.code != loop::Code::op || i.op == Op::cast) return 0.;
    return i.op == Op::fma ? 2. : 1.;
  };
  Work w;
  for (size_t i = 0; i < k.body.size(); ++i) (i < k.epilogue ? w.per_index : w.per_row) += flops(k.body[i]);
  for (size_t r = 0; r < k.rolled_loops.size(); ++r)
    for (size_t i = k.rolled_loops[r].first; i < k.rolled_loops[r].last; ++i)
      w.per_index += flops(k.body[i]) * (static_cast<double>(trips[r]) - 1);
  for (const loop::Instr& i : k.body)
    if (i.code == loop::Code::load_at) w.gathered += static_cast<double>(size_of(i.type));
  w.per_index += k.form == loop::Form::contract ? 2 : static_cast<double>(k.reductions.size());
  return w;
}

Amount amount_of(const Step& s, const uint64_t* words) {
  const loop::ArgLayout& at = s.args;
  int64_t indices = 1, rows = 1, bytes = 0;
  for (int axis = 0; axis < at.rank; ++axis) {
    const auto n = static_cast<int64_t>(words[at.extent(axis)]);
    indices *= n;
    if (axis != s.sequential) rows *= n;
  }
  for (int i = 0; i < at.operands; ++i) {
    const auto size = static_cast<int64_t>(size_of(s.operands[static_cast<size_t>(i)].dtype));
    int64_t elements = size, reach = size;
    for (int axis = 0; axis < at.rank; ++axis) {
      const auto stride = static_cast<int64_t>(words[at.stride(i, axis)]);
      if (stride == 0) continue;
      const auto n = static_cast<int64_t>(words[at.extent(axis)]);
      elements *= n;
      reach += (n - 1) * std::abs(stride);
    }
    bytes += std::min(elements, reach);
  }
  const auto all = static_cast<double>(indices);
  return {all, static_cast<double>(bytes) + s.work.gathered * all,
          s.work.per_index * all + s.work.per_row * static_cast<double>(rows)};
}

}  // namespace lazy::jit
