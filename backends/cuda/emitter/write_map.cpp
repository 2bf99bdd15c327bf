// Writes maps, an element at a time: a thread loads what all of its elements need, then computes and stores
// one after the other. An output may lie where an input does: nothing is loaded that another thread stores.
//
// Where an operand is packed along another axis than the last, a block of threads has a tile of both axes, so
// that the cache lines it loads are used completely.
#include <bit>

#include "backends/cuda/emitter/map_writer.hpp"
#include "backends/cuda/emitter/types.hpp"

namespace lazy::cuda_backend {

void MapWriter::write() {
  write_index(1);
  if (schedule_.transposed_axis >= 0) write_turned_index();
  write_elements();
  if (schedule_.vector > 1) write_vectors();
}

void MapWriter::write_turned_index() {
  const int last = k_.rank - 1, transposed = schedule_.transposed_axis;
  const std::string tile = std::to_string(kTurnedTile),
                    bits = std::to_string(std::countr_zero(unsigned{kTurnedTile}));
  const std::string columns = "(u32)args.n" + std::to_string(last),
                    rows = "(u32)args.n" + std::to_string(transposed);
  text_.line("");
  text_.line("// Of element e of the block's tile, which may be outside of the box.");
  text_.open("static __device__ __forceinline__ Index turned_index_of(const Args& args, u32 e)");
  text_.line("const u32 shift = (u32)args.planned, width = 1u << shift, height = " + tile + "u >> shift;");
  text_.line("const u32 across = (" + columns + " + width - 1) >> shift;");
  text_.line("const u32 down = (" + rows + " + height - 1) >> (" + bits + " - shift);");
  text_.line("u32 at = blockIdx.x;");
  text_.line("Index i;");
  text_.line("i.i" + std::to_string(last) + " = at % across * width + (e & (width - 1));");
  text_.line("at /= across;");
  text_.line("i.i" + std::to_string(transposed) + " = at % down * height + (e >> shift);");
  text_.line("at /= down;");
  for (int a = last - 1; a >= 0; --a) {
    if (a == transposed) continue;
    text_.line("i.i" + std::to_string(a) + " = at % (u32)args.n" + std::to_string(a) + ";");
    text_.line("at /= (u32)args.n" + std::to_string(a) + ";");
  }
  text_.line("return i;");
  text_.close();
}

/// Opens a loop over the elements of the thread, with `i` in scope until close_elements(). `first` and
/// `count` are there.
void MapWriter::open_elements() {
  const int n = schedule_.unroll, transposed = schedule_.transposed_axis, last = k_.rank - 1;
  text_.line("#pragma unroll");
  text_.open("for (int u = 0; u < " + std::to_string(n) + "; ++u)");
  if (transposed >= 0) {
    text_.line("const Index i = turned_index_of(args, u * " + std::to_string(schedule_.threads) +
               " + threadIdx.x);");
    const auto inside = [](int a) {
      return "i.i" + std::to_string(a) + " < (u32)args.n" + std::to_string(a);
    };
    text_.open("if (" + inside(last) + " && " + inside(transposed) + ")");
  } else {
    text_.line("const u32 item = first + u * " + std::to_string(schedule_.threads) + ";");
    text_.open("if (item < count)");
    text_.line("const Index i = index_of(args, item);");
  }
}
void MapWriter::close_elements() {
  text_.close();
  text_.close();
}

void MapWriter::write_element() {
  Place place;
  place.load = [&](uint16_t o) { return address(o).access(); };
  place.index = [&](int axis) { return index(axis); };
  values_.write(text_, 0, k_.body.size(), place);
  store(0, k_.body.size());
}

void MapWriter::write_elements() {
  const int n = schedule_.unroll;
  open_function(0, schedule_.threads);
  if (schedule_.transposed_axis < 0) {
    text_.line("const u32 count = " + result_count() + ";");
    text_.line(std::string("const u32 ") + (n > 1 ? "first" : "item") + " = blockIdx.x * " +
               std::to_string(schedule_.threads * n) + " + threadIdx.x;");
  }
  if (n == 1) {
    text_.line("if (item >= count) return;");
    text_.line("const Index i = index_of(args, item);");
    write_element();
    text_.close();
    return;
  }
  const std::vector<int> loads = loaded(0, k_.body.size());
  for (const int o : loads)
    text_.line(element_type(o) + " " + operand_name(o) + "[" + std::to_string(n) + "];");
  if (!loads.empty()) {
    open_elements();
    for (const int o : loads) text_.line(operand_name(o) + "[u] = " + address(o).access() + ";");
    close_elements();
  }
  open_elements();
  Place place;
  place.load = [&](uint16_t o) { return operand_name(o) + "[u]"; };
  place.index = [&](int axis) { return index(axis); };
  values_.write(text_, 0, k_.body.size(), place);
  store(0, k_.body.size());
  close_elements();
  text_.close();
}

void write_map(const jit::loop::LoopKernel& k, const Schedule& s, ModuleText& m) {
  MapWriter(k, s, m).write();
}

}  // namespace lazy::cuda_backend
