// Lets calls of linear algebra be written for elements that may be complex, though the graph has real values
// alone. With the flag kOfPlanes each operand of floating point is two of the call, the planes of real and of
// imaginary parts; an output that is complex is two likewise, with the flag or without. What computes a call
// sees whole numbers (CallDefinition::infer_complex): operands are put together before it, outputs taken
// apart behind it.
#pragma once
#include "jit/backend/buffer.hpp"
#include "jit/built_in/linalg/matrices.hpp"

namespace lazy::jit::calls {

/// Is `infer` of such a call.
std::vector<CallOutput> infer_planes(const CallSpec&, std::span<const Meta> operands);
/// Returns the outputs as whole numbers of operands that are whole numbers.
std::vector<CallOutput> infer_whole(const CallSpec&, std::span<const Meta> operands);

/// Holds a run of planes as one of whole numbers. One without planes is itself.
class WholeRun {
 public:
  explicit WholeRun(const CallRun&);
  WholeRun(const WholeRun&) = delete;
  const CallRun& run() const { return whole_ ? *whole_ : planes_; }
  /// Writes the planes of outputs.
  void give() const;

 private:
  char* memory_for(const Meta&);

  const CallRun& planes_;
  std::vector<Meta> operands_, outputs_;
  std::vector<const char*> in_;
  std::vector<char*> out_;
  std::vector<BufferRef> memory_;
  std::optional<CallRun> whole_;
};

/// Calls f(run) with a run of whole numbers.
template <class F>
void on_whole(const CallRun& r, F&& f) {
  const WholeRun whole(r);
  f(whole.run());
  whole.give();
}
/// Is `run` of a definition whose numbers are whole to `compute`.
template <void (*compute)(const CallRun&)>
void run_whole(const CallRun& r) {
  on_whole(r, compute);
}
/// Is `in_place` of a definition: an output is written where `operand` lies, unless both are planes.
template <int operand>
int over_operand(const CallSpec& spec, int) {
  return spec.as<MatrixAttributes>().flags & kOfPlanes ? -1 : operand;
}

}  // namespace lazy::jit::calls
