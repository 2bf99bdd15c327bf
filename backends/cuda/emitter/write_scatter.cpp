// Writes scatters: a thread has a line, whose updates it does in ascending order. Of few lines several
// threads have one: each goes through all of the updates and does those of the elements that it owns.
#include "backends/cuda/emitter/expression.hpp"
#include "backends/cuda/emitter/layouts.hpp"
#include "backends/cuda/emitter/types.hpp"

namespace lazy::cuda_backend {
using jit::Op;

namespace {

class ScatterWriter : public Writer {
 public:
  using Writer::Writer;
  void write();
};

void ScatterWriter::write() {
  const jit::loop::Store& s = k_.stores[0];
  const DType type = k_.operands[s.operand].dtype, wide = compute_type(type);
  write_index(1);
  open_function(0, schedule_.threads);
  text_.line("const u32 item = blockIdx.x * " + std::to_string(schedule_.threads) + " + threadIdx.x;");
  text_.line("const u32 owners = (u32)args.split, mine = item % owners;");
  text_.line("if (item / owners >= " + result_count() + ") return;");
  text_.line("const Index i = index_of(args, item / owners);");
  text_.open("for (i64 r = 0; r < args.n" + std::to_string(k_.sequential) + "; ++r)");
  Place place;
  place.load = [&](uint16_t o) { return address(o).access(); };
  place.index = [&](int axis) { return index(axis); };
  values_.write(text_, 0, k_.body.size(), place);
  const std::string& at = values_[s.at];
  text_.open("if (" + at + " >= 0 && ((u64)" + at + " & (owners - 1)) == mine)");
  const std::string there = values_.load_at(s.operand, at);
  if (s.combine == Op::cast) {
    text_.line(there + " = " + values_[s.value] + ";");
  } else {
    const auto widened = [&](const std::string& x) {
      return type == wide ? x : expression(prelude_, Op::cast, type, wide, {x, "", ""});
    };
    const std::string before = std::string("const ") + spelled(wide) + " ";
    text_.line(before + "old = " + widened(there) + ";");
    text_.line(before + "update = " + widened(values_[s.value]) + ";");
    text_.line(before + "both = " + expression(prelude_, s.combine, wide, wide, {"old", "update", ""}) + ";");
    text_.line(there + " = " +
               (type == wide ? "both" : expression(prelude_, Op::cast, wide, type, {"both", "", ""})) + ";");
  }
  text_.close();
  text_.close();
  text_.close();
}

}  // namespace

void write_scatter(const jit::loop::LoopKernel& k, const Schedule& s, ModuleText& m) {
  ScatterWriter(k, s, m).write();
}

}  // namespace lazy::cuda_backend
