#include "jit/run/execution.hpp"

namespace lazy::jit {

Run::FoldedOperands Run::read_through(size_t i) {
  const Step& s = p_.steps[i];
  FoldedOperands folds;
  for (const Step::Folds& f : s.folds) {
    if (std::erase(unmade_, f.step) == 0) continue;
    if (auto operand = folded(i, f)) folds.push_back(std::move(operand));
    else make_copy(f.step);
  }
  return folds;
}

std::unique_ptr<FoldedOperand> Run::folded(size_t i, const Step::Folds& f) {
  if (!bind(i) || !bind(f.step)) return {};
  return p_.steps[i].kernel->fold(arguments_.words(i),
                                  {f.operand, p_.steps[f.step].kernel.get(), arguments_.words(f.step)});
}

void Run::make_copy(uint32_t step) {
  for (uint32_t slot : p_.steps[step].made)
    if (!buffers_[slot]) make(slot, step);
  launch(step);
}

}  // namespace lazy::jit
