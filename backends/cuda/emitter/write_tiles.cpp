// Writes contractions of two operands: a block of threads has a tile of results. Both sides come through
// shared memory, the next steps' loads under way while these are multiplied. Each result is one accumulator,
// ascending, as the loop IR says.
#include "backends/cuda/emitter/cost.hpp"
#include "backends/cuda/emitter/expression.hpp"
#include "backends/cuda/emitter/product_writer.hpp"
#include "backends/cuda/emitter/reduction_writer.hpp"
#include "backends/cuda/emitter/tiles.hpp"
#include "backends/cuda/emitter/types.hpp"

namespace lazy::cuda_backend {
using jit::loop::Side;
using jit::loop::Stride;
namespace {

constexpr int kTileThreads = (kTile / kSide) * (kTile / kSide);
constexpr int kLoads = kTile * kDepth / kTileThreads;  // of each side, by one thread
/// Rows of a tile in shared memory are so much longer than it, so that its columns lie in different banks.
constexpr int kPad = 4;
/// A cheaper epilogue is written out for all of a thread's results.
constexpr int kUnrolledEpilogue = 24;

}  // namespace

bool ProductWriter::packed_along(const Side& side, int axis) const {
  return k_.operands[static_cast<size_t>(operand_of(k_, side))].stride[axis] == Stride::unit;
}

// Loads a tile of a side. Neighbouring threads go along `axis` of the tile if the operand is packed there,
// else along the sequential axis.
void ProductWriter::load_tile(const char* name, const Side& side, int axis, const std::string& origin,
                              int tile) {
  const int operand = operand_of(k_, side);
  const bool along = packed_along(side, axis);
  const std::string member = "i.i" + number(axis), count = "(u32)args.n" + number(axis);
  text_.line("#pragma unroll");
  text_.open("for (int u = 0; u < " + number(tile * kDepth / kTileThreads) + "; ++u)");
  text_.line("const u32 e = threadIdx.x + u * " + number(kTileThreads) + ";");
  text_.line(member + " = " + origin + " + " + (along ? "e % " + number(tile) : "e / " + number(kDepth)) +
             ";");
  text_.line("const i64 r = next + " + (along ? "e / " + number(tile) : "e % " + number(kDepth)) + ";");
  const std::string loaded = address(operand).access();
  const auto value_of = [&] {
    if (side.prologue == jit::loop::Prologue::none) return loaded;
    text_.line("const " + element_type(operand) + " loaded = " + loaded + ";");
    return expression(prelude_, jit::Op::cast, k_.body[side.load].type, k_.contraction.type,
                      {"loaded", {}, {}});
  };
  text_.line(std::string(name) + "_next[u] = 0;");
  text_.open("if (" + member + " < " + count + " && r < end)");
  text_.line(std::string(name) + "_next[u] = " + value_of() + ";");
  text_.close();
  text_.close();
}

std::string ProductWriter::place_in_tile(const Side& side, int axis, int tile) const {
  const std::string long_side = number(tile), depth = number(kDepth);
  return packed_along(side, axis) ? "[e / " + long_side + "][e % " + long_side + "]"
                                  : "[e % " + depth + "][e / " + depth + "]";
}

void ProductWriter::write() {
  const jit::loop::Contraction& form = k_.contraction;
  const int column_axis = k_.rank - 1;
  const std::string type = reductions_.type(0), tile = number(kTile), depth = number(kDepth),
                    side = number(kSide);
  const std::string rows = "(u32)args.n" + number(form.row), columns = "(u32)args.n" + number(column_axis);
  write_index(1);

  text_.line("");
  text_.line("// One step of all the results of a thread.");
  text_.open("static __device__ __forceinline__ void multiply(" + type + " (&sum)[" + side + "][" + side +
             "], const " + type + "* left, const " + type + "* right)");
  text_.line("#pragma unroll");
  text_.open("for (int y = 0; y < " + side + "; ++y)");
  text_.line("#pragma unroll");
  text_.open("for (int x = 0; x < " + side + "; ++x)");
  reductions_.add_product(text_, "sum[y][x]", "left[y]", "right[x]");
  text_.close();
  text_.close();
  text_.close();

  open_function(0, kTileThreads);
  text_.line("__shared__ __align__(16) " + type + " left[" + depth + "][" + number(kTile + kPad) +
             "], right[" + depth + "][" + number(kTile + kPad) + "];");
  text_.line("const u32 down = (" + rows + " + " + number(kTile - 1) + ") / " + tile + ", across = (" +
             columns + " + " + number(kTile - 1) + ") / " + tile + ";");
  text_.line("const u32 tile = blockIdx.x / across;");
  text_.line("const u32 column0 = blockIdx.x % across * " + tile + ", row0 = tile % down * " + tile + ";");
  text_.line("const u32 x0 = threadIdx.x % " + number(kTile / kSide) + " * " + side +
             ", y0 = threadIdx.x / " + number(kTile / kSide) + " * " + side + ";");
  // The outer axes' indices, by way of the first result of their plane.
  text_.line("Index i = index_of(args, tile / down * (" + rows + " * " + columns + "));");
  text_.line("const i64 end = args.n" + number(k_.sequential) + ";");
  text_.line(type + " sum[" + side + "][" + side + "] = {};");
  text_.line(type + " left_next[" + number(kLoads) + "], right_next[" + number(kLoads) + "];");
  text_.line("i64 next = 0;");
  const auto load = [&] {
    load_tile("left", form.left, form.row, "row0", kTile);
    load_tile("right", form.right, column_axis, "column0", kTile);
  };
  load();
  text_.open("while (next < end)");
  text_.line("__syncthreads();");
  text_.line("#pragma unroll");
  text_.open("for (int u = 0; u < " + number(kLoads) + "; ++u)");
  text_.line("const u32 e = threadIdx.x + u * " + number(kTileThreads) + ";");
  text_.line("left" + place_in_tile(form.left, form.row, kTile) + " = left_next[u];");
  text_.line("right" + place_in_tile(form.right, column_axis, kTile) + " = right_next[u];");
  text_.close();
  text_.line("__syncthreads();");
  text_.line("const i64 steps = end - next;");
  text_.line("next += " + depth + ";");
  text_.open("if (next < end)");
  load();
  text_.close();
  text_.open("if (steps >= " + depth + ")");
  text_.line("#pragma unroll 4");
  text_.line("for (int step = 0; step < " + depth +
             "; ++step) multiply(sum, left[step] + y0, right[step] + x0);");
  text_.turn("} else {");
  text_.line("for (int step = 0; step < steps; ++step) multiply(sum, left[step] + y0, right[step] + x0);");
  text_.close();
  text_.close();

  // A long epilogue goes over a copy in memory, so that it is there once and sums stay in registers before.
  const bool unrolled = cost_of(k_, k_.epilogue, k_.body.size()) <= kUnrolledEpilogue;
  if (!unrolled) {
    text_.line(type + " results[" + side + "][" + side + "];");
    text_.line("#pragma unroll");
    text_.line("for (int e = 0; e < " + number(kSide * kSide) + "; ++e) results[e / " + side + "][e % " +
               side + "] = sum[e / " + side + "][e % " + side + "];");
  }
  text_.line(unrolled ? "#pragma unroll" : "#pragma unroll 1");
  text_.open("for (int y = 0; y < " + side + "; ++y)");
  text_.line("i.i" + number(form.row) + " = row0 + y0 + y;");
  text_.line("if (i.i" + number(form.row) + " >= " + rows + ") break;");
  text_.line(unrolled ? "#pragma unroll" : "#pragma unroll 1");
  text_.open("for (int x = 0; x < " + side + "; ++x)");
  text_.line("i.i" + number(column_axis) + " = column0 + x0 + x;");
  text_.line("if (i.i" + number(column_axis) + " >= " + columns + ") break;");
  write_epilogue([&](size_t) { return std::string(unrolled ? "sum[y][x]" : "results[y][x]"); });
  text_.close();
  text_.close();
  text_.close();
  if (schedule_.has_staged()) ReductionWriter(k_, schedule_, prelude_, text_).write_staged();
  if (schedule_.has_mma()) write_mma();
}

void write_tiles(const jit::loop::LoopKernel& k, const Schedule& s, ModuleText& m) {
  ProductWriter(k, s, m).write();
}

}  // namespace lazy::cuda_backend
