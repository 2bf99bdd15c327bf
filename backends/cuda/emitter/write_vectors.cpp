// Maps, a vector of neighbours along the last axis at a time: 16 bytes of the widest operand. What stays in
// place along that axis is loaded once a vector.
#include "backends/cuda/emitter/map_writer.hpp"

namespace lazy::cuda_backend {

void MapWriter::write_vectors() {
  const int last = k_.rank - 1, n = schedule_.unroll;
  const std::string v = std::to_string(schedule_.vector), threads = std::to_string(schedule_.threads);
  const auto neighbours = [&](int o) {
    return k_.operands[static_cast<size_t>(o)].stride[last] == jit::loop::Stride::unit;
  };
  const auto type = [&](int o) {
    return neighbours(o) ? "Wide<" + element_type(o) + ", " + v + ">" : element_type(o);
  };
  const auto open_items = [&] {
    text_.line("#pragma unroll");
    text_.open("for (int u = 0; u < " + std::to_string(n) + "; ++u)");
    text_.line("const u32 item = first + u * " + threads + ";");
    text_.open("if (item < count)");
    text_.line("const Index i = wide_index_of(args, item);");
  };
  const auto close_items = [&] {
    text_.close();
    text_.close();
  };

  prelude_.need("Wide");
  prelude_.need("wide");
  write_index(schedule_.vector);
  open_function(1, schedule_.threads);
  text_.line("const u32 count = " + result_count() + " / " + v + ";");
  if (last == 0) {
    text_.line("// What is left of an axis that is no multiple of a vector.");
    text_.open("if (blockIdx.x == gridDim.x - 1 && threadIdx.x < (u32)args.n0 % " + v + ")");
    text_.line("const Index i = {count * " + v + " + threadIdx.x};");
    write_element();
    text_.close();
  }
  text_.line("const u32 first = blockIdx.x * " + std::to_string(schedule_.threads * n) + " + threadIdx.x;");
  const std::vector<int> loads = loaded(0, k_.body.size());
  for (const int o : loads) text_.line(type(o) + " " + operand_name(o) + "[" + std::to_string(n) + "];");
  if (!loads.empty()) {
    open_items();
    for (const int o : loads) {
      const Address at = address(o);
      text_.line(operand_name(o) +
                 "[u] = " + (neighbours(o) ? "wide<" + v + ">(" + at.pointer() + ")" : at.access()) + ";");
    }
    close_items();
  }

  open_items();
  for (const auto& s : k_.stores) text_.line(type(s.operand) + " " + operand_name(s.operand) + ";");
  text_.line("#pragma unroll");
  text_.open("for (int j = 0; j < " + v + "; ++j)");
  Place place;
  place.load = [&](uint16_t o) { return operand_name(o) + "[u]" + (neighbours(o) ? ".at[j]" : ""); };
  place.index = [&](int axis) { return index(axis) + (axis == last ? " + j" : ""); };
  values_.write(text_, 0, k_.body.size(), place);
  for (const auto& s : k_.stores) text_.line(operand_name(s.operand) + ".at[j] = " + values_[s.value] + ";");
  text_.close();
  for (const auto& s : k_.stores)
    text_.line("wide<" + v + ">(" + address(s.operand).pointer() + ") = " + operand_name(s.operand) + ";");
  close_items();
  text_.close();
}

}  // namespace lazy::cuda_backend
