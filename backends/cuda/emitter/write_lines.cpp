// Writes scans: a thread has one line, for a running sum's order is strictly ascending. Loads of the next
// steps are under way at once; an output may lie where an input does, and each element is loaded before it is
// stored.
#include "backends/cuda/emitter/layouts.hpp"

namespace lazy::cuda_backend {
namespace {

constexpr int kWarpLineLoads = 4;

class LinesWriter : public Writer {
 public:
  using Writer::Writer;
  void write();

 private:
  void write_warp_lines();
};

void LinesWriter::write() {
  open_sequence({});
  text_.close();
  if (schedule_.functions.size() > 1) write_warp_lines();
}

// Writes scans of few lines: a warp has one. Its lanes load and compute neighbours; each lane's value in turn
// is added by all of them.
void LinesWriter::write_warp_lines() {
  const std::string n = std::to_string(kWarpLineLoads);
  std::vector<int> moving;
  for (const int o : loaded(0, body_end()))
    if (moves(o, k_.sequential)) moving.push_back(o);
  open_function(1, 32);
  text_.line("const u32 lane = threadIdx.x;");
  text_.line("const Index i = index_of(args, blockIdx.x);");
  text_.line("const i64 end = args.n" + std::to_string(k_.sequential) + ";");
  load_fixed();
  for (size_t j = 0; j < reductions_.size(); ++j)
    text_.line(reductions_.type(j) + " " + reductions_.name(j) + " = " + reductions_.start(j) + ";");
  text_.open("for (i64 first = 0; first < end; first += 32 * " + n + ")");
  for (const int o : moving) text_.line(element_type(o) + " " + operand_name(o) + "[" + n + "] = {};");
  const auto open_steps = [&] {
    text_.line("#pragma unroll");
    text_.open("for (int u = 0; u < " + n + "; ++u)");
    text_.line("const i64 r = first + u * 32 + lane;");
  };
  if (!moving.empty()) {
    open_steps();
    text_.open("if (r < end)");
    for (const int o : moving) text_.line(operand_name(o) + "[u] = " + address(o).access() + ";");
    text_.close();
    text_.close();
  }
  // Lanes past the end compute along: what they have comes after all that is stored.
  open_steps();
  Place place;
  place.load = [&](uint16_t o) { return operand_name(o) + (moves(o, k_.sequential) ? "[u]" : ""); };
  place.index = [&](int axis) { return index(axis); };
  place.result = [&](uint16_t j) { return "here" + std::to_string(j); };
  place.then = [&](jit::loop::ValueId v) {
    for (size_t j = 0; j < reductions_.size(); ++j) {
      if (k_.reductions[j].value != v) continue;
      const std::string here = "here" + std::to_string(j), next = "next" + std::to_string(j);
      text_.line(reductions_.type(j) + " " + here + " = 0;");
      text_.line("#pragma unroll 8");
      text_.open("for (int from = 0; from < 32; ++from)");
      text_.line("const " + reductions_.type(j) + " " + next + " = " +
                 reductions_.from_lane(j, values_[v], "from") + ";");
      reductions_.combine(text_, j, reductions_.name(j), next);
      text_.line("if (from == lane) " + here + " = " + reductions_.name(j) + ";");
      text_.close();
    }
  };
  values_.write(text_, 0, body_end(), place);
  text_.open("if (r < end)");
  store(0, body_end());
  text_.close();
  text_.close();
  text_.close();
  text_.close();
}

}  // namespace

void write_lines(const jit::loop::LoopKernel& k, const Schedule& s, ModuleText& m) {
  LinesWriter(k, s, m).write();
}

}  // namespace lazy::cuda_backend
