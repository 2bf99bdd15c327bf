// Writes reductions along the last axis. A warp has one block of a row: lane l has the elements l, l + 32,
// ..., so that its partial accumulators are private to it; folds go by shuffles. Of rows of at most 16
// elements a warp has several.
#include "backends/cuda/emitter/reduction_writer.hpp"

namespace lazy::cuda_backend {

std::string ReductionWriter::folded(size_t j) const {
  return reductions_.name(j) + (partials_of_lane(k_.reductions[j]) == 2 ? "[0]" : "");
}

void ReductionWriter::write_lane_sums() {
  for (size_t j = 0; j < reductions_.size(); ++j) {
    const std::string start = reductions_.start(j);
    const bool two = partials_of_lane(k_.reductions[j]) == 2;
    text_.line(reductions_.type(j) + " " + reductions_.name(j) +
               (two ? "[2] = {" + start + ", " + start + "};" : " = " + start + ";"));
  }
  text_.open("for (i64 first = begin + lane; first < end; first += " + std::to_string(32 * schedule_.unroll) +
             ")");
  write_steps("32", [&] {
    add([&](size_t j) {
      return reductions_.name(j) + (partials_of_lane(k_.reductions[j]) == 2 ? "[u & 1]" : "");
    });
  });
  text_.close();
  // Folds in halves: the partials within a lane first, then lanes half as far apart each time.
  for (size_t j = 0; j < reductions_.size(); ++j)
    if (partials_of_lane(k_.reductions[j]) == 2)
      reductions_.combine(text_, j, folded(j), reductions_.name(j) + "[1]");
  text_.open("for (u32 half = lanes / 2; half > 0; half /= 2)");
  for (size_t j = 0; j < reductions_.size(); ++j) {
    text_.line("const " + reductions_.type(j) + " other" + std::to_string(j) + " = " +
               reductions_.from_further(j, folded(j), "half") + ";");
    reductions_.combine(text_, j, folded(j), "other" + std::to_string(j));
  }
  text_.close();
}

void ReductionWriter::write_rows() {
  write_index(1);
  write_part_type();
  const std::string n = "args.n" + std::to_string(k_.sequential), threads = std::to_string(schedule_.threads);
  const std::string block = std::to_string(jit::loop::reduce_block(true));
  open_function(0, schedule_.threads);
  text_.line("const u32 shift = (u32)args.planned, lanes = 1u << shift, lane = threadIdx.x & (lanes - 1);");
  text_.line("const u32 rows = " + result_count() + ", parts = (u32)args.split;");
  text_.line("const u32 item = blockIdx.x * (" + threads + " >> shift) + (threadIdx.x >> shift);");
  text_.line("const bool is_there = item < rows * parts;");
  text_.line(
      "const u32 row = !is_there ? 0 : parts == 1 ? item : item / parts, part = is_there ? item - row * "
      "parts : 0;");
  text_.line("const Index i = index_of(args, row);");
  text_.line("const i64 begin = (i64)part * " + block + ";");
  text_.line("const i64 rest = is_there ? " + n + " - begin : 0, end = begin + (rest < " + block +
             " ? rest : " + block + ");");
  load_fixed();
  write_lane_sums();
  text_.line("if (!is_there || lane != 0) return;");
  text_.open("if (parts > 1)");
  write_part("item", [&](size_t j) { return folded(j); });
  text_.line("return;");
  text_.close();
  write_epilogue([&](size_t j) { return folded(j); });
  text_.close();
  write_combine();
  if (schedule_.has_staged()) write_staged();
  if (schedule_.has_short_rows()) write_short();
}

void write_rows(const jit::loop::LoopKernel& k, const Schedule& s, ModuleText& m) {
  ReductionWriter(k, s, m).write_rows();
}

}  // namespace lazy::cuda_backend
