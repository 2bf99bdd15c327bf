// Scans: a thread has one line, for a running sum's order is strictly ascending. Loads of the next steps are
// under way at once; an output may lie where an input does, and each element is loaded before it is stored.
#include "backends/cuda/emitter/writer.hpp"

namespace lazy::cuda_backend {

void Writer::write_lines() {
  write_index(1);
  open_function(0, schedule_.threads);
  text_.line("const u32 item = blockIdx.x * " + std::to_string(schedule_.threads) + " + threadIdx.x;");
  text_.line("if (item >= " + result_count() + ") return;");
  text_.line("const Index i = index_of(args, item);");
  text_.line("const i64 end = args.n" + std::to_string(k_.sequential) + ";");
  load_fixed();
  for (size_t j = 0; j < reductions_.size(); ++j)
    text_.line(reductions_.type(j) + " " + reductions_.name(j) + " = " + reductions_.start(j) + ";");
  text_.open("for (i64 first = 0; first < end; first += " + std::to_string(schedule_.unroll) + ")");
  write_steps("1", {});
  text_.close();
  text_.close();
}

}  // namespace lazy::cuda_backend
