// Answers what compilers need to know about kernels that load or store at a computed index.
#include <algorithm>

#include "jit/ir/ir.hpp"

namespace lazy::jit::loop {

bool is_indexed(const LoopKernel& k) {
  return k.form == Form::scatter || std::any_of(k.body.begin(), k.body.end(), [](const Instr& i) {
           return i.code == Code::load_at || i.code == Code::check;
         });
}

std::vector<uint8_t> same_along(const LoopKernel& k, int axis) {
  std::vector<uint8_t> same(k.body.size(), 0);
  const auto is_same = [&](const Instr& in) {
    switch (in.code) {
      case Code::load:
      case Code::load_at:
        if (k.operands[in.imm].stride[axis] != Stride::zero) return false;
        break;
      case Code::iota: return in.imm != axis;
      case Code::result:
      case Code::carried: return false;
      case Code::scalar:
      case Code::check:
      case Code::op: break;
    }
    for (const ValueId v : {in.a, in.b, in.c})
      if (v != kNoValue && !same[v]) return false;
    return true;
  };
  for (size_t i = 0; i < k.body.size(); ++i) same[i] = is_same(k.body[i]);
  return same;
}

}  // namespace lazy::jit::loop
