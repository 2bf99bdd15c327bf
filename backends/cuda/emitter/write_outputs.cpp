// A contraction of whatever sides: a thread has one result and adds up in ascending order.
#include "backends/cuda/emitter/writer.hpp"

namespace lazy::cuda_backend {

void Writer::write_outputs() {
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
  write_steps("1", [&] { add([&](size_t j) { return reductions_.name(j); }); });
  text_.close();
  write_epilogue([&](size_t j) { return reductions_.name(j); });
  text_.close();
  if (schedule_.has_staged()) write_staged();
}

}  // namespace lazy::cuda_backend
