// Puts a kernel's module together.
#include <algorithm>

#include "backends/cuda/emitter/layouts.hpp"

namespace lazy::cuda_backend {
namespace {

void write(const jit::loop::LoopKernel& k, const Schedule& schedule, ModuleText& m) {
  switch (schedule.layout) {
    case Layout::map: return write_map(k, schedule, m);
    case Layout::rows: return write_rows(k, schedule, m);
    case Layout::columns: return write_columns(k, schedule, m);
    case Layout::outputs: return write_outputs(k, schedule, m);
    case Layout::tiles: return write_tiles(k, schedule, m);
    case Layout::lines: return write_lines(k, schedule, m);
    case Layout::scatter: return write_scatter(k, schedule, m);
  }
}

}  // namespace

std::string emit(const jit::loop::LoopKernel& k, const Schedule& schedule) {
  ModuleText m;
  write(k, schedule, m);
  std::string s;
  if (!k.name.empty() || !k.at.empty()) s += "// " + k.name + (k.at.empty() ? "" : " at " + k.at) + "\n";
  s += "// " + schedule.text + "\n";
  const auto uses = [&](DType t) {
    return std::any_of(k.body.begin(), k.body.end(), [&](const auto& in) { return in.type == t; });
  };
  s += module_head(uses(float16), uses(bfloat16));
  return s + Writer(k, schedule, m).arguments() + "\n" + m.prelude.text() + m.text.take();
}

}  // namespace lazy::cuda_backend
