// Writes reductions along another axis than the last. A block of threads has 32 columns, or blocks of
// columns, side by side: each of its four warps has one of the partial accumulators, which meet in shared
// memory.
#include "backends/cuda/emitter/reduction_writer.hpp"

namespace lazy::cuda_backend {

void ReductionWriter::write_columns() {
  write_index(1);
  write_part_type();
  const std::string n = "args.n" + std::to_string(k_.sequential);
  const std::string block = std::to_string(jit::loop::reduce_block(false));
  open_function(0, schedule_.threads);
  for (size_t j = 0; j < reductions_.size(); ++j)
    text_.line("__shared__ " + reductions_.type(j) + " " + reductions_.name(j) + "_of[4][32];");
  text_.line("const u32 lane = threadIdx.x % 32, partial = threadIdx.x / 32;");
  text_.line("const u32 columns = " + result_count() + ", parts = (u32)args.split;");
  text_.line("const u32 item = blockIdx.x * 32 + lane;");
  text_.line("const bool is_there = item < columns * parts;");
  text_.line("const u32 column = is_there ? item % columns : 0, part = is_there ? item / columns : 0;");
  text_.line("const Index i = index_of(args, column);");
  text_.line("const i64 begin = (i64)part * " + block + ";");
  text_.line("const i64 rest = is_there ? " + n + " - begin : 0, end = begin + (rest < " + block +
             " ? rest : " + block + ");");
  load_fixed();
  for (size_t j = 0; j < reductions_.size(); ++j)
    text_.line(reductions_.type(j) + " " + reductions_.name(j) + " = " + reductions_.start(j) + ";");
  text_.open("for (i64 first = begin + partial; first < end; first += " +
             std::to_string(4 * schedule_.unroll) + ")");
  write_steps("4", [&] { add([&](size_t j) { return reductions_.name(j); }); });
  text_.close();
  for (size_t j = 0; j < reductions_.size(); ++j)
    text_.line(reductions_.name(j) + "_of[partial][lane] = " + reductions_.name(j) + ";");
  text_.line("__syncthreads();");
  text_.line("if (!is_there || partial != 0) return;");
  for (size_t j = 0; j < reductions_.size(); ++j) {
    const std::string of = reductions_.name(j) + "_of[", odd = "odd" + std::to_string(j);
    reductions_.combine(text_, j, reductions_.name(j), of + "2][lane]");
    text_.line(reductions_.type(j) + " " + odd + " = " + of + "1][lane];");
    reductions_.combine(text_, j, odd, of + "3][lane]");
    reductions_.combine(text_, j, reductions_.name(j), odd);
  }
  const auto folded = [&](size_t j) { return reductions_.name(j); };
  text_.open("if (parts > 1)");
  write_part("column * parts + part", folded);
  text_.line("return;");
  text_.close();
  write_epilogue(folded);
  text_.close();
  write_combine();
  if (schedule_.has_staged()) write_staged();
}

void write_columns(const jit::loop::LoopKernel& k, const Schedule& s, ModuleText& m) {
  ReductionWriter(k, s, m).write_columns();
}

}  // namespace lazy::cuda_backend
