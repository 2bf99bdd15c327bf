// Writes reductions of many rows of at most kShortRow elements: a thread has a row, each element a partial
// accumulator. Partials past the row's end would stay as they start, so folding begins at kShortRow instead
// of at the loop IR's number of them.
#include "backends/cuda/emitter/reduction_writer.hpp"

namespace lazy::cuda_backend {

void ReductionWriter::write_short() {
  const std::string most = std::to_string(kShortRow);
  const auto name = [&](size_t j) { return reductions_.name(j); };
  const auto ordered = [&](size_t j) { return is_ordered(k_.reductions[j]); };
  std::vector<int> moving;
  for (const int o : loaded(0, body_end()))
    if (moves(o, k_.sequential)) moving.push_back(o);
  const auto open_steps = [&] {
    text_.line("#pragma unroll");
    text_.open("for (int u = 0; u < " + most + "; ++u)");
    text_.open("if (u < left)");
    text_.line("const i64 r = u;");
  };
  const auto close_steps = [&] {
    text_.close();
    text_.close();
  };

  open_function(schedule_.short_rows, schedule_.threads);
  text_.line("const u32 row = blockIdx.x * " + std::to_string(schedule_.threads) + " + threadIdx.x;");
  text_.line("if (row >= " + result_count() + ") return;");
  text_.line("const Index i = index_of(args, row);");
  text_.line("const i32 left = (i32)args.n" + std::to_string(k_.sequential) + ";");
  load_fixed();
  for (const int o : moving) text_.line(element_type(o) + " " + operand_name(o) + "[" + most + "];");
  if (!moving.empty()) {
    open_steps();
    for (const int o : moving) text_.line(operand_name(o) + "[u] = " + address(o).access() + ";");
    close_steps();
  }
  for (size_t j = 0; j < reductions_.size(); ++j)
    text_.line(reductions_.type(j) + " " + name(j) +
               (ordered(j) ? "[" + most + "];" : " = " + reductions_.start(j) + ";"));
  text_.line("#pragma unroll");
  text_.open("for (int u = 0; u < " + most + "; ++u)");
  for (size_t j = 0; j < reductions_.size(); ++j)
    if (ordered(j)) text_.line(name(j) + "[u] = " + reductions_.start(j) + ";");
  text_.open("if (u < left)");
  text_.line("const i64 r = u;");
  Place place;
  place.load = [&](uint16_t o) { return operand_name(o) + (moves(o, k_.sequential) ? "[u]" : ""); };
  place.index = [&](int axis) { return index(axis); };
  values_.write(text_, 0, body_end(), place);
  add([&](size_t j) { return name(j) + (ordered(j) ? "[u]" : ""); });
  store(0, body_end());
  close_steps();
  for (size_t j = 0; j < reductions_.size(); ++j) {
    if (!ordered(j)) continue;
    text_.line("#pragma unroll");
    text_.open("for (int half = " + std::to_string(kShortRow / 2) + "; half > 0; half /= 2)");
    text_.line("#pragma unroll");
    text_.open("for (int l = 0; l < half; ++l)");
    reductions_.combine(text_, j, name(j) + "[l]", name(j) + "[l + half]");
    text_.close();
    text_.close();
  }
  write_epilogue([&](size_t j) { return name(j) + (ordered(j) ? "[0]" : ""); });
  text_.close();
}

}  // namespace lazy::cuda_backend
