// Writes the straight-line code of a kernel's body or epilogue as text: one line an instruction, values named
// after what computes them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/cuda/emitter/prelude.hpp"
#include "backends/cuda/emitter/text.hpp"
#include "jit/ir/ir.hpp"

namespace lazy::cuda_backend {

/// Says where one evaluation takes from what is not computed in it; all as expressions.
struct Place {
  std::function<std::string(uint16_t operand)> load;
  std::function<std::string(int axis)> index;  // without the box's origin
  std::function<std::string(uint16_t reduction)> result;
  /// Is called after an instruction has been written.
  std::function<void(jit::loop::ValueId)> then;
};

class Values {
 public:
  Values(const jit::loop::LoopKernel&, Prelude&);
  /// Returns the element of an operand that many elements (an expression) on from the evaluation's index.
  std::function<std::string(uint16_t operand, const std::string& elements)> load_at;
  /// Writes instructions [first, last), rolled loops with all of theirs.
  void write(Text&, size_t first, size_t last, const Place&);
  /// Returns the value's name, or the expression that replaces it.
  const std::string& operator[](jit::loop::ValueId v) const { return name_[v]; }
  /// True if scalars are an array of words in Args, as a rolled loop steps through them; otherwise they are
  /// one member each, with its type.
  bool has_scalar_array() const { return scalar_array_; }
  DType scalar_type(int i) const { return scalar_types_[static_cast<size_t>(i)]; }

 private:
  void instruction(Text&, size_t i, const Place&, const std::string& ahead);
  void rolled_loop(Text&, const jit::loop::RolledLoop&, const Place&);
  std::string scalar(int i, DType, const std::string& ahead) const;
  std::string value_of(size_t i, const Place&, const std::string& ahead);

  const jit::loop::LoopKernel& k_;
  Prelude& prelude_;
  std::vector<std::string> name_;
  std::vector<uint8_t> declared_;  // before the rolled loop that computes it
  std::vector<uint8_t> same_;      // along the sequential axis, of a map the last
  std::vector<DType> scalar_types_;
  bool scalar_array_ = false;
};

}  // namespace lazy::cuda_backend
