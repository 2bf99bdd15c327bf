// Maps: a thread loads what all of its elements or vectors need, then computes and stores one after the
// other. An output may lie where an input does: nothing is loaded that another thread stores.
//
// Where an operand is packed along another axis than the last, a block of threads has a tile of both axes, so
// that the cache lines it loads are used whole.
#include <bit>

#include "backends/cuda/emitter/types.hpp"
#include "backends/cuda/emitter/writer.hpp"

namespace lazy::cuda_backend {
using jit::loop::Stride;

void Writer::write_map() {
  write_index(1);
  if (schedule_.turned_axis >= 0) write_turned_index();
  write_map_function(1);
  if (schedule_.vector == 1) return;
  write_index(schedule_.vector);
  write_map_function(schedule_.vector);
}

void Writer::write_turned_index() {
  const int last = k_.rank - 1, turned = schedule_.turned_axis;
  const std::string tile = std::to_string(kTurnedTile),
                    bits = std::to_string(std::countr_zero(unsigned{kTurnedTile}));
  const std::string columns = "(u32)args.n" + std::to_string(last),
                    rows = "(u32)args.n" + std::to_string(turned);
  text_.line("");
  text_.line("// Of element e of the block's tile, which may be outside of the box.");
  text_.open("static __device__ __forceinline__ Index turned_index_of(const Args& args, u32 e)");
  text_.line("const u32 shift = (u32)args.planned, width = 1u << shift, height = " + tile + "u >> shift;");
  text_.line("const u32 across = (" + columns + " + width - 1) >> shift, down = (" + rows +
             " + height - 1) >> (" + bits + " - shift);");
  text_.line("u32 at = blockIdx.x;");
  text_.line("Index i;");
  text_.line("i.i" + std::to_string(last) + " = at % across * width + (e & (width - 1));");
  text_.line("at /= across;");
  text_.line("i.i" + std::to_string(turned) + " = at % down * height + (e >> shift);");
  text_.line("at /= down;");
  for (int a = last - 1; a >= 0; --a) {
    if (a == turned) continue;
    text_.line("i.i" + std::to_string(a) + " = at % (u32)args.n" + std::to_string(a) + ";");
    text_.line("at /= (u32)args.n" + std::to_string(a) + ";");
  }
  text_.line("return i;");
  text_.close();
}

void Writer::write_map_function(int vector) {
  const int last = k_.rank - 1, n = schedule_.unroll, threads = schedule_.threads;
  const int turned = schedule_.turned_axis;
  const bool wide = vector > 1;
  const std::string v = std::to_string(vector);
  const auto neighbours = [&](int o) {
    return wide && k_.operands[static_cast<size_t>(o)].stride[last] == Stride::unit;
  };
  const auto vector_type = [&](int o) { return "Wide<" + element_type(o) + ", " + v + ">"; };
  const auto stand_at_item = [&] {
    text_.line(std::string("const Index i = ") + (wide ? "wide_index_of" : "index_of") + "(args, item);");
    // Of a kernel with one axis the last vector may be short.
    if (wide) text_.line("const u32 left = " + (last == 0 ? "(u32)args.n0 - i.i0" : v) + ";");
  };
  const auto open_items = [&] {
    if (n == 1) return;
    text_.line("#pragma unroll");
    text_.open("for (int u = 0; u < " + std::to_string(n) + "; ++u)");
    if (turned >= 0) {
      text_.line("const Index i = turned_index_of(args, u * " + std::to_string(threads) + " + threadIdx.x);");
      text_.open("if (i.i" + std::to_string(last) + " < (u32)args.n" + std::to_string(last) + " && i.i" +
                 std::to_string(turned) + " < (u32)args.n" + std::to_string(turned) + ")");
      return;
    }
    text_.line("const u32 item = first + u * " + std::to_string(threads) + ";");
    text_.open("if (item < count)");
    stand_at_item();
  };
  const auto close_items = [&] {
    if (n == 1) return;
    text_.close();
    text_.close();
  };

  open_function(wide ? 1 : 0, threads);
  if (turned < 0) {
    std::string count = "(u32)args.n0";
    for (int a = 1; a <= last; ++a) count += " * (u32)args.n" + std::to_string(a);
    if (wide)
      count = last == 0 ? "(u32)args.n0 / " + v + " + ((u32)args.n0 % " + v + " != 0)" : count + " / " + v;
    text_.line("const u32 count = " + count + ";");
    text_.line(std::string("const u32 ") + (n > 1 ? "first" : "item") + " = blockIdx.x * " +
               std::to_string(threads * n) + " + threadIdx.x;");
    if (n == 1) {
      text_.line("if (item >= count) return;");
      stand_at_item();
    }
  }

  const std::vector<int> loads = loaded(0, k_.body.size());
  for (const int o : loads)
    text_.line((neighbours(o) ? vector_type(o) : element_type(o)) + " " + operand_name(o) +
               (n > 1 ? "[" + std::to_string(n) + "]" : "") + ";");
  if (wide) prelude_.need("Wide");
  if (!loads.empty()) {
    open_items();
    for (const int o : loads) {
      const Address at = address(o);
      if (neighbours(o)) prelude_.need("load_wide");
      text_.line(operand_name(o) + step() + " = " +
                 (neighbours(o) ? "load_wide<" + v + ">(" + at.pointer() + ", left)" : at.access()) + ";");
    }
    close_items();
  }

  open_items();
  if (wide) {
    for (const auto& s : k_.stores) text_.line(vector_type(s.operand) + " " + operand_name(s.operand) + ";");
    text_.line("#pragma unroll");
    text_.open("for (int j = 0; j < " + v + "; ++j)");
  }
  Place place;
  place.load = [&](uint16_t o) { return operand_name(o) + step() + (neighbours(o) ? ".at[j]" : ""); };
  place.index = [&](int axis) { return index(axis) + (wide && axis == last ? " + j" : ""); };
  values_.write(text_, 0, k_.body.size(), place);
  if (wide) {
    for (const auto& s : k_.stores)
      text_.line(operand_name(s.operand) + ".at[j] = " + values_[s.value] + ";");
    text_.close();
    prelude_.need("store_wide");
    for (const auto& s : k_.stores)
      text_.line("store_wide(" + address(s.operand).pointer() + ", " + operand_name(s.operand) + ", left);");
  } else {
    store(0, k_.body.size());
  }
  close_items();
  text_.close();
}

}  // namespace lazy::cuda_backend
