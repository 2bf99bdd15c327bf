// Prepares a LoopKernel to be run: instructions with their meanings looked up.
#pragma once
#include <vector>

#include "backends/reference/ops.hpp"
#include "jit/backend/backend.hpp"

namespace lazy::reference {

class LoopsKernel final : public jit::Kernel {
 public:
  using MeaningOf = StripFn (*)(const jit::loop::Instr&, DType operand);
  static StripFn meaning_of(const jit::loop::Instr& i, DType operand) {
    return meaning(i.op, operand, i.type);
  }
  /// Throws CompileError if the kernel breaks a rule of the IR. The second may give pointwise ops other
  /// meanings.
  explicit LoopsKernel(const jit::loop::LoopKernel&, MeaningOf = meaning_of);
  void launch(uint64_t* args) const override;
  std::string schedule() const override { return "reference loops"; }

 private:
  friend class Run;
  const jit::loop::LoopKernel k_;
  std::vector<StripFn> meanings_;  // by instruction; null where it isn't an op
};

}  // namespace lazy::reference
