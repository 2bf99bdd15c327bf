// Writes the second function of a reduction in several blocks, which combines their results from left to
// right. A warp has one result: its lanes load blocks' results side by side, then each in turn is sent to all
// lanes.
#include "backends/cuda/emitter/reduction_writer.hpp"

namespace lazy::cuda_backend {

void ReductionWriter::write_part_type() {
  text_.line("");
  text_.line("// Results of one block, in scratch memory.");
  text_.open("struct Part");
  for (size_t j = 0; j < reductions_.size(); ++j)
    text_.line("alignas(8) " + reductions_.type(j) + " " + reductions_.name(j) + ";");
  text_.close("};");
}

void ReductionWriter::write_part(const std::string& at,
                                 const std::function<std::string(size_t j)>& accumulator) {
  for (size_t j = 0; j < reductions_.size(); ++j)
    text_.line("((Part*)args.scratch)[" + at + "]." + reductions_.name(j) + " = " + accumulator(j) + ";");
}

void ReductionWriter::write_combine() {
  open_function(1, static_cast<int>(kCombineThreads));
  text_.line("const u32 lane = threadIdx.x % 32, parts = (u32)args.split;");
  text_.line("const u32 result = blockIdx.x * " + std::to_string(kCombineThreads / 32) +
             " + threadIdx.x / 32;");
  text_.line("if (result >= " + result_count() + ") return;");
  text_.line("const Index i = index_of(args, result);");
  text_.line("const Part* const part = (const Part*)args.scratch + (u64)result * parts;");
  for (size_t j = 0; j < reductions_.size(); ++j)
    text_.line(reductions_.type(j) + " " + reductions_.name(j) + " = " + reductions_.start(j) + ";");
  bool any_ordered = false, all_ordered = true;
  for (size_t j = 0; j < reductions_.size(); ++j) {
    const bool ordered = is_ordered(k_.reductions[j]);
    any_ordered |= ordered, all_ordered &= ordered;
  }
  // Sums are one long chain: nothing else may take its time. The next loads are under way meanwhile, and
  // of 32 lanes' values in turn all are on their way at once.
  const auto load = [&](const std::string& name, const std::string& from) {
    text_.line("#pragma unroll");
    text_.open("for (int u = 0; u < 4; ++u)");
    text_.line("if (" + from + " + u * 32 + lane < parts) " + name + "[u] = part[" + from +
               " + u * 32 + lane];");
    text_.close();
  };
  const auto fold_from = [&] {
    for (size_t j = 0; j < reductions_.size(); ++j) {
      if (!is_ordered(k_.reductions[j])) continue;
      text_.line("const " + reductions_.type(j) + " next" + std::to_string(j) + " = " +
                 reductions_.from_lane(j, "mine." + reductions_.name(j), "from") + ";");
      reductions_.combine(text_, j, reductions_.name(j), "next" + std::to_string(j));
    }
  };
  text_.line("Part here[4];");
  load("here", "0");
  text_.line("#pragma unroll 1");
  text_.open("for (u32 first = 0; first < parts; first += 128)");
  text_.line("Part ahead[4];");
  load("ahead", "first + 128");
  text_.line("#pragma unroll 1");
  text_.open("for (u32 at = first; at < first + 128 && at < parts; at += 32)");
  text_.line("const Part mine = here[0];");
  text_.line("here[0] = here[1], here[1] = here[2], here[2] = here[3];");
  if (!all_ordered) {
    text_.open("if (at + lane < parts)");
    for (size_t j = 0; j < reductions_.size(); ++j)
      if (!is_ordered(k_.reductions[j]))
        reductions_.combine(text_, j, reductions_.name(j), "mine." + reductions_.name(j));
    text_.close();
  }
  if (any_ordered) {
    text_.open("if (parts - at >= 32)");
    text_.line("#pragma unroll");
    text_.open("for (int from = 0; from < 32; ++from)");
    fold_from();
    text_.close();
    text_.close();
    text_.open("else");
    text_.line("#pragma unroll 1");
    text_.open("for (int from = 0; from < (int)(parts - at); ++from)");
    fold_from();
    text_.close();
    text_.close();
  }
  text_.close();
  text_.line("#pragma unroll");
  text_.line("for (int u = 0; u < 4; ++u) here[u] = ahead[u];");
  text_.close();
  if (!all_ordered) {
    text_.open("for (u32 half = 16; half > 0; half /= 2)");
    for (size_t j = 0; j < reductions_.size(); ++j) {
      if (is_ordered(k_.reductions[j])) continue;
      text_.line("const " + reductions_.type(j) + " other" + std::to_string(j) + " = " +
                 reductions_.from_further(j, reductions_.name(j), "half") + ";");
      reductions_.combine(text_, j, reductions_.name(j), "other" + std::to_string(j));
    }
    text_.close();
  }
  text_.line("if (lane != 0) return;");
  write_epilogue([&](size_t j) { return reductions_.name(j); });
  text_.close();
}

}  // namespace lazy::cuda_backend
