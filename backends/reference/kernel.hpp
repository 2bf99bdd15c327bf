// Prepares a LoopKernel to be run: instructions with their meanings looked up.
#pragma once
#include <vector>

#include "backends/reference/ops.hpp"
#include "jit/backend/backend.hpp"

namespace lazy::reference {

class LoopsKernel final : public jit::Kernel {
 public:
  using MeaningOf = StripFn (*)(jit::Op, DType operand, DType result);
  /// Throws CompileError if the kernel breaks a rule of the IR. `meaning_of` may give pointwise ops other
  /// meanings.
  explicit LoopsKernel(const jit::loop::LoopKernel&, MeaningOf meaning_of = meaning);
  void launch(uint64_t* args) const override;
  std::string schedule() const override { return "reference loops"; }

 private:
  friend class Run;
  const jit::loop::LoopKernel k_;
  std::vector<StripFn> meanings_;  // by instruction; null where it isn't an op
};

}  // namespace lazy::reference
