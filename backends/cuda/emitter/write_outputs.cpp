// Writes a contraction of any sides: a thread has one result and adds up in ascending order.
#include "backends/cuda/emitter/reduction_writer.hpp"

namespace lazy::cuda_backend {

void ReductionWriter::write_outputs() {
  open_sequence([&] { add([&](size_t j) { return reductions_.name(j); }); });
  write_epilogue([&](size_t j) { return reductions_.name(j); });
  text_.close();
  if (schedule_.has_staged()) write_staged();
}

void write_outputs(const jit::loop::LoopKernel& k, const Schedule& s, ModuleText& m) {
  ReductionWriter(k, s, m).write_outputs();
}

}  // namespace lazy::cuda_backend
