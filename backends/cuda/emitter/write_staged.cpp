// Writes reductions with few results, or few blocks of them: a block of threads has one block of a row, or of
// 32 columns side by side; of contractions 32 results. All of its threads load and compute values; these pass
// through shared memory to the few threads that have the partial accumulators, so that much is under way at
// once though each accumulator's order is fixed.
#include <algorithm>

#include "backends/cuda/emitter/reduction_writer.hpp"
#include "backends/cuda/emitter/types.hpp"

namespace lazy::cuda_backend {

int staged_loads(const jit::loop::LoopKernel& k) {
  size_t bytes = 0, partials = 0;
  for (const auto& r : k.reductions) {
    bytes += size_of(r.type);
    partials += 128 * 8 * static_cast<size_t>(members_of_part(r));
  }
  if (k.form == jit::loop::Form::contract) {
    bytes = 2 * size_of(k.contraction.type);
    partials = 128 * 8;
  }
  // Static shared memory is 48 KiB.
  for (const int loads : {8, 4, 2})
    if (bytes * static_cast<size_t>(loads) * kStagedThreads + partials <= 48u << 10) return loads;
  return 0;
}

void ReductionWriter::write_staged() {
  const bool inner = schedule_.layout == Layout::rows, folds = inner || schedule_.layout == Layout::columns;
  const int loads = staged_loads(k_), tile = loads * kStagedThreads;
  const std::string threads = std::to_string(kStagedThreads), n = "args.n" + std::to_string(k_.sequential);
  const std::string block = std::to_string(jit::loop::reduce_block(inner));
  const std::string steps = std::to_string(inner ? tile : tile / 32);
  /// Returns how many threads have accumulators of reduction j: element e of a tile belongs to thread e
  /// modulo that.
  const auto partials = [&](size_t j) {
    if (!folds) return 32;
    return inner ? 32 * std::max(partials_of_lane(k_.reductions[j]), 1) : 128;
  };
  const auto name = [&](size_t j) { return reductions_.name(j); };
  std::vector<int> moving;
  for (const int o : loaded(0, body_end()))
    if (moves(o, k_.sequential)) moving.push_back(o);

  open_function(schedule_.staged, kStagedThreads);
  /// Describes what passes through shared memory for an accumulator: its next values, or both sides.
  struct Staged {
    const char* suffix;
    jit::loop::ValueId value;
  };
  const auto staged = [&](size_t j) -> std::vector<Staged> {
    const jit::loop::Contraction& c = k_.contraction;
    if (folds) return {{"_values", k_.reductions[j].value}};
    return {{"_values", c.left.value}, {"_seconds", c.right.value}};
  };
  for (size_t j = 0; j < reductions_.size(); ++j) {
    const DType type = folds ? k_.reductions[j].type : k_.contraction.type;
    for (const Staged& s : staged(j))
      text_.line(std::string("__shared__ ") + spelled(type) + " " + name(j) + s.suffix + "[" +
                 std::to_string(tile) + "];");
    if (partials(j) > 32)
      text_.line("__shared__ " + reductions_.type(j) + " " + name(j) + "_of[" + std::to_string(partials(j)) +
                 "];");
  }
  text_.line("const u32 lane = threadIdx.x % 32, results = " + result_count() +
             (folds ? ", parts = (u32)args.split;" : ", parts = 1;"));
  if (inner) {
    text_.line("const u32 item = blockIdx.x, result = item / parts, part = item % parts;");
  } else {
    // Lanes that have none do as the last.
    text_.line("const u32 item = blockIdx.x * 32 + lane, last = results * parts - 1;");
    text_.line(
        "const u32 there = item < last ? item : last, result = there % results, part = there / results;");
  }
  text_.line("const Index i = index_of(args, result);");
  if (folds) {
    text_.line("const i64 begin = (i64)part * " + block + ", rest = " + n + " - begin;");
    text_.line("const i32 count = (i32)(rest < " + block + " ? rest : " + block + ");");
  } else {
    text_.line("const i64 begin = 0;");
    text_.line("const i32 count = (i32)" + n + ";");
  }
  // Blocks of 32 columns go as far as the longest.
  if (folds && !inner)
    text_.line("const i32 most = (i32)(" + n + " < " + block + " ? " + n + " : " + block + ");");
  else text_.line("const i32 most = count;");
  load_fixed();
  for (size_t j = 0; j < reductions_.size(); ++j)
    text_.line(reductions_.type(j) + " " + name(j) + " = " + reductions_.start(j) + ";");
  for (const int o : moving)
    text_.line(element_type(o) + " " + operand_name(o) + "[" + std::to_string(loads) + "];");

  const auto open_tile = [&](const std::string& first) {
    text_.line("#pragma unroll");
    text_.open("for (int u = 0; u < " + std::to_string(loads) + "; ++u)");
    text_.line("const i32 step = " + (first == "0" ? "" : first + " + ") +
               (inner ? "u * " + threads + " + (i32)threadIdx.x;"
                      : "u * " + std::to_string(kStagedThreads / 32) + " + (i32)threadIdx.x / 32;"));
    text_.open("if (step < count)");
    text_.line("const i64 r = begin + step;");
  };
  const auto close_tile = [&] {
    text_.close();
    text_.close();
  };
  const auto load_tile_at = [&](const std::string& first) {
    if (moving.empty()) return;
    open_tile(first);
    for (const int o : moving) text_.line(operand_name(o) + "[u] = " + address(o).access() + ";");
    close_tile();
  };

  load_tile_at("0");
  text_.open("for (i32 first = 0; first < most; first += " + steps + ")");
  open_tile("first");
  Place place;
  place.load = [&](uint16_t o) { return operand_name(o) + (moves(o, k_.sequential) ? "[u]" : ""); };
  place.index = [&](int axis) { return index(axis); };
  values_.write(text_, 0, body_end(), place);
  for (size_t j = 0; j < reductions_.size(); ++j) {
    const std::string at = "[u * " + threads + " + threadIdx.x] = ";
    for (const Staged& s : staged(j)) text_.line(name(j) + s.suffix + at + values_[s.value] + ";");
  }
  store(0, body_end());
  close_tile();
  text_.line("__syncthreads();");
  text_.line("const i32 ahead = first + " + steps + ";");
  load_tile_at("ahead");
  for (size_t j = 0; j < reductions_.size(); ++j) {
    const std::string p = std::to_string(partials(j));
    text_.open("if (threadIdx.x < " + p + ")");
    const auto add_from = [&](const char* unroll, const std::string& end) {
      text_.line(unroll);
      text_.open("for (i32 e = (i32)threadIdx.x; e < " + end + "; e += " + p + ")");
      text_.line("const i32 step = first + e" + std::string(inner ? ";" : " / 32;"));
      if (folds) reductions_.add(text_, j, name(j), name(j) + "_values[e]", "begin + step");
      else reductions_.add_product(text_, name(j), name(j) + "_values[e]", name(j) + "_seconds[e]");
      text_.close();
    };
    // If a tile is full, values are fetched ahead of the chain.
    text_.open("if (count - first >= " + steps + ")");
    add_from("#pragma unroll 8", std::to_string(tile));
    text_.close();
    text_.open("else");
    add_from("#pragma unroll 1", inner ? "count - first" : "(count - first) * 32");
    text_.close();
    text_.close();
  }
  text_.line("__syncthreads();");
  text_.close();

  if (!folds) {
    text_.line("if (threadIdx.x >= 32 || item > last) return;");
    write_epilogue(name);
    text_.close();
    return;
  }
  write_staged_fold(inner, partials);
  text_.close();
}

/// Writes the end of the function: what threads have accumulated meets in shared memory, is folded in halves
/// and stored.
void ReductionWriter::write_staged_fold(bool inner, const std::function<int(size_t j)>& partials) {
  const auto name = [&](size_t j) { return reductions_.name(j); };
  bool meet = false;
  for (size_t j = 0; j < reductions_.size(); ++j) {
    if (partials(j) == 32) continue;
    meet = true;
    text_.line("if (threadIdx.x < " + std::to_string(partials(j)) + ") " + name(j) +
               "_of[threadIdx.x] = " + name(j) + ";");
  }
  if (meet) text_.line("__syncthreads();");
  text_.line("if (threadIdx.x >= 32) return;");
  const auto other = [&](size_t j) { return "other" + std::to_string(j); };
  for (size_t j = 0; j < reductions_.size(); ++j) {
    const std::string of = name(j) + "_of[lane + ";
    if (!inner) {
      reductions_.combine(text_, j, name(j), of + "64]");
      text_.line(reductions_.type(j) + " " + other(j) + " = " + of + "32];");
      reductions_.combine(text_, j, other(j), of + "96]");
      reductions_.combine(text_, j, name(j), other(j));
    } else if (partials(j) == 64) {
      reductions_.combine(text_, j, name(j), of + "32]");
    }
  }
  if (inner) {
    text_.open("for (u32 half = 16; half > 0; half /= 2)");
    for (size_t j = 0; j < reductions_.size(); ++j) {
      text_.line("const " + reductions_.type(j) + " " + other(j) + " = " +
                 reductions_.from_further(j, name(j), "half") + ";");
      reductions_.combine(text_, j, name(j), other(j));
    }
    text_.close();
  }
  text_.line(inner ? "if (lane != 0) return;" : "if (item > last) return;");
  text_.open("if (parts > 1)");
  write_part("result * parts + part", name);
  text_.line("return;");
  text_.close();
  write_epilogue(name);
}

}  // namespace lazy::cuda_backend
