// Contractions of two operands of one 16-bit type, summed in float32 by tensor cores: in an order of their
// own, so a launch takes this way only where any order will do. A block has a tile of results; both sides
// come to shared memory by asynchronous copies, two stages ahead of the one that is multiplied.
#include <algorithm>

#include "backends/cuda/emitter/cost.hpp"
#include "backends/cuda/emitter/tiles.hpp"
#include "backends/cuda/emitter/types.hpp"
#include "backends/cuda/emitter/writer.hpp"

namespace lazy::cuda_backend {
using jit::loop::Code;
using jit::loop::Stride;
namespace {

constexpr const char* kGuard = "#if defined(LAZY_EMULATED) || __CUDA_ARCH__ >= 800";

/// `$t` is f16 or bf16.
const char* const kText =
    R"(// A thread's part in copying one side of a product, whose lines are rows or columns of the results.
struct Side {
  const char* from;  // its first piece in the next stage: line t, step k
  i64 line, step;    // bytes from one to the next
  i32 lines;         // from the tile's first one on
  i32 t, k;
  bool wide;         // pieces are 16 bytes, else two elements
};

// Where a stage has line t, step k, in bytes. Neighbours are steps, or, of a turned side, lines; groups of 8
// change places, so that 8 groups that are loaded at once are in different banks.
template <bool turned, int tile>
static __device__ __forceinline__ u32 place(u32 t, u32 k) {
  if (turned) return k * tile * 2 + (t / 8 ^ k % 8) * 16 + t % 8 * 2;
  return t * 64 + (k / 8 ^ t / 2 % 4) * 16 + k % 8 * 2;
}

// `from` is the element of the tile's first line, first step.
template <bool turned, int tile>
static __device__ __forceinline__ Side side(const char* from, i64 line, i64 step, i32 lines, bool wide) {
  const i32 piece = wide ? 8 : 2, in_line = (turned ? tile : 32) / piece;
  const i32 most = (i32)threadIdx.x / in_line, least = (i32)threadIdx.x % in_line * piece;
  const i32 t = turned ? least : most, k = turned ? most : least;
  return {from + (t * line + k * step), line, step, lines, t, k, wide};
}

// A stage of 32 steps, `left` of which there are; what is not there is 0.
template <bool turned, int tile>
static __device__ __forceinline__ void fill(Shared stage, Side& s, i32 left) {
  const char* p = s.from;
  s.from += 32 * s.step;
  if (s.wide) {
    // Two pieces, half a stage apart.
    constexpr i32 lines_on = turned ? 0 : tile / 2, steps_on = turned ? 16 : 0;
#pragma unroll
    for (i32 u = 0; u < 2; ++u) {
      const i32 t = s.t + u * lines_on, k = s.k + u * steps_on;
      const i32 there = turned ? (k < left ? s.lines - t : 0) : (t < s.lines ? left - k : 0);
      copy_async_16(stage + place<turned, tile>(t, k), p, there >= 8 ? 16 : there > 0 ? there * 2 : 0);
      p += turned ? steps_on * s.step : lines_on * s.line;
    }
  } else {
    constexpr i32 lines_on = turned ? 0 : tile / 8, steps_on = turned ? 4 : 0;
    const i64 next = turned ? s.line : s.step;
#pragma unroll 1
    for (i32 u = 0; u < 8; u += 4) {
      u32 first[4] = {}, second[4] = {};
#pragma unroll
      for (i32 v = 0; v < 4; ++v) {
        const i32 t = s.t + (u + v) * lines_on, k = s.k + (u + v) * steps_on;
        if (t < s.lines && k < left) {
          first[v] = *(const u16*)p;
          if (turned ? t + 1 < s.lines : k + 1 < left) second[v] = *(const u16*)(p + next);
        }
        p += turned ? steps_on * s.step : lines_on * s.line;
      }
#pragma unroll
      for (i32 v = 0; v < 4; ++v)
        store_shared(stage + place<turned, tile>(s.t + (u + v) * lines_on, s.k + (u + v) * steps_on),
                     first[v] | second[v] << 16);
    }
  }
}

// 16 lines from t on, 16 steps from k on: of lines and of steps, first both first eights, then the later
// lines, the later steps, both.
template <bool turned, int tile>
static __device__ __forceinline__ void load_fragment(u32 (&d)[4], Shared stage, u32 t, u32 k) {
  const u32 lane = threadIdx.x % 32;
  if (turned) {
    load_matrix_4_turned(d, stage + place<true, tile>(t + lane / 8 % 2 * 8, k + lane / 16 * 8 + lane % 8));
  } else {
    load_matrix_4(d, stage + place<false, tile>(t + lane % 16, k + lane / 16 * 8));
  }
}

// A tile's products: a warp has tile / 2 rows of 32 columns.
template <bool left_turned, bool right_turned, int tile>
static __device__ __forceinline__ void multiply(float (&sum)[tile / 32][4][4], char* memory, Side left, Side right,
                                                i32 steps) {
  constexpr u32 bytes = tile * 64;  // of a stage of one side
  const u32 warp = threadIdx.x / 32, y = warp / (tile / 32) * (tile / 2), x = warp % (tile / 32) * 32;
  const Shared lefts = shared_address(memory), rights = lefts + 3 * bytes;
  u32 filled = 0, used = 0;
#pragma unroll 1
  for (i32 at = -64; at < steps; at += 32) {
    copies_wait<1>();
    __syncthreads();
    if (at + 64 < steps) {
      fill<left_turned, tile>(lefts + filled, left, steps - at - 64);
      fill<right_turned, tile>(rights + filled, right, steps - at - 64);
      filled = filled == 2 * bytes ? 0 : filled + bytes;
    }
    copies_end();
    if (at < 0) continue;
#pragma unroll
    for (u32 k = 0; k < 32; k += 16) {
      u32 a[tile / 32][4], b[4][2];
#pragma unroll
      for (u32 j = 0; j < tile / 32; ++j) load_fragment<left_turned, tile>(a[j], lefts + used, y + j * 16, k);
#pragma unroll
      for (u32 j = 0; j < 4; j += 2) {
        u32 both[4];
        load_fragment<right_turned, tile>(both, rights + used, x + j * 8, k);
        b[j][0] = both[0], b[j + 1][0] = both[1], b[j][1] = both[2], b[j + 1][1] = both[3];
      }
#pragma unroll
      for (u32 j = 0; j < tile / 32; ++j)
#pragma unroll
        for (u32 n = 0; n < 4; ++n) mma_$t(sum[j][n], a[j], b[n]);
    }
    used = used == 2 * bytes ? 0 : used + bytes;
  }
}

// 16 rows of 32 columns of a warp, from fragments to rows of 33.
static __device__ __forceinline__ void spread(float* rows, const float (&sum)[4][4]) {
  const u32 lane = threadIdx.x % 32;
#pragma unroll
  for (u32 n = 0; n < 4; ++n)
#pragma unroll
    for (u32 j = 0; j < 4; ++j) rows[(lane / 4 + j / 2 * 8) * 33 + n * 8 + lane % 4 * 2 + j % 2] = sum[n][j];
}


)";

std::string number(int v) { return std::to_string(v); }

/// The operand of a side.
int operand_of(const jit::loop::LoopKernel& k, jit::loop::ValueId side) {
  const auto& in = k.body[side];
  return in.code == Code::load ? in.imm : k.body[in.a].imm;
}

bool is_turned(const jit::loop::LoopKernel& k, int operand, int axis) {
  return k.operands[static_cast<size_t>(operand)].stride[axis] == Stride::unit;
}

}  // namespace

std::optional<MmaForm> mma_form(const jit::loop::LoopKernel& k) {
  const auto tiles = tile_form(k);
  if (!tiles || k.reductions[0].type != float32) return {};
  const MmaForm f{operand_of(k, tiles->left), operand_of(k, tiles->right)};
  const DType type = k.operands[static_cast<size_t>(f.left)].dtype;
  if ((type != float16 && type != bfloat16) || type != k.operands[static_cast<size_t>(f.right)].dtype)
    return {};
  return f;
}

/// A side's template arguments, and how the text makes it.
std::string Writer::mma_side(int operand, int axis, const char* first, int flag) {
  const auto& stride = k_.operands[static_cast<size_t>(operand)].stride;
  const auto bytes = [&](int a) {
    switch (stride[a]) {
      case Stride::zero: return std::string("0");
      case Stride::unit: return std::string("2");
      case Stride::any: break;
    }
    return "args." + operand_name(operand) + "_" + number(a);
  };
  return "side<" + std::string(is_turned(k_, operand, axis) ? "true" : "false") + ", tile>((const char*)(" +
         address(operand).pointer() + "), " + bytes(axis) + ", " + bytes(k_.sequential) +
         ", (i32)((u32)args.n" + number(axis) + " - " + first + "), (args.planned & " + number(flag) +
         ") != 0)";
}

/// The epilogue of a warp's rows and columns from `row` and `column` on, 32 of each, whose sums are `rows`.
void Writer::write_mma_epilogue(const TileForm& form) {
  // Lanes go along what the output is packed along.
  const auto& out = k_.operands[k_.stores.back().operand];
  const bool by_rows = out.stride[form.row_axis] == Stride::unit;
  const int across = by_rows ? form.row_axis : form.column_axis,
            down = by_rows ? form.column_axis : form.row_axis;
  const std::string lane_member = "i.i" + number(across), member = "i.i" + number(down),
                    end = "(u32)args.n" + number(down), first = by_rows ? "column" : "row";
  const int cost = cost_of(k_, k_.epilogue, k_.body.size());
  // So many are loaded before the first is stored.
  const int n = cost <= 8 ? 8 : cost <= 24 ? 4 : 2;
  const std::vector<int> operands = loaded(k_.epilogue, k_.body.size());
  text_.line(lane_member + " = " + (by_rows ? "row" : "column") + " + threadIdx.x % 32;");
  text_.line("if (" + lane_member + " >= (u32)args.n" + number(across) + ") continue;");
  const auto name = [&](int o) { return operand_name(o) + "_there"; };
  for (const int o : operands)
    if (!moves(o, down))
      text_.line("const " + element_type(o) + " " + name(o) + " = " + address(o).access() + ";");
  text_.line("#pragma unroll 1");
  text_.open("for (u32 e = 0; e < 32; e += " + number(n) + ")");
  const auto each = [&] {
    text_.line("#pragma unroll");
    text_.open("for (u32 u = 0; u < " + number(n) + "; ++u)");
    text_.line(member + " = " + first + " + e + u;");
    text_.open("if (" + member + " < " + end + ")");
  };
  std::vector<int> moving;
  for (const int o : operands)
    if (moves(o, down)) moving.push_back(o);
  for (const int o : moving) text_.line(element_type(o) + " " + name(o) + "[" + number(n) + "];");
  if (!moving.empty()) {
    each();
    for (const int o : moving) text_.line(name(o) + "[u] = " + address(o).access() + ";");
    text_.close();
    text_.close();
  }
  each();
  Place place;
  place.load = [&](uint16_t o) { return name(o) + (moves(o, down) ? "[u]" : ""); };
  place.index = [&](int axis) { return index(axis); };
  place.result = [&](uint16_t) {
    return std::string(by_rows ? "rows[threadIdx.x % 32 * 33 + e + u]"
                               : "rows[(e + u) * 33 + threadIdx.x % 32]");
  };
  values_.write(text_, k_.epilogue, k_.body.size(), place);
  store(k_.epilogue, k_.body.size());
  text_.close();
  text_.close();
  text_.close();
}

void Writer::write_mma() {
  const TileForm form = *tile_form(k_);
  const MmaForm mma = *mma_form(k_);
  const std::string type = spelled(k_.operands[static_cast<size_t>(mma.left)].dtype);
  for (const std::string& f :
       {"mma_" + type, std::string("load_matrix_4"), std::string("load_matrix_4_turned"),
        std::string("copy_async_16"), std::string("store_shared")})
    prelude_.need(f);
  const auto turned = [&](int operand, int axis) {
    return std::string(is_turned(k_, operand, axis) ? "true" : "false");
  };
  const std::string rows = "(u32)args.n" + number(form.row_axis),
                    columns = "(u32)args.n" + number(form.column_axis);

  text_.line("");
  text_.directive(kGuard);
  std::string text = kText;
  for (size_t at = 0; (at = text.find("$t", at)) != text.npos;) text.replace(at, 2, type);
  text_.append(text);
  text_.line("// A tile of results, by tile * 2 threads.");
  text_.line("template <int tile>");
  text_.open("static __device__ __forceinline__ void compute_tile(const Args& args, char* memory)");
  text_.line("const u32 down = (" + rows + " + tile - 1) / tile, across = (" + columns +
             " + tile - 1) / tile;");
  text_.line("const u32 plane = blockIdx.x / (down * across), in_plane = blockIdx.x % (down * across);");
  text_.line("// Blocks that run at the same time are near each other in both directions.");
  text_.line("const u32 above = in_plane / (8 * across) * 8, high = down - above < 8 ? down - above : 8;");
  text_.line("const u32 in_group = in_plane - above * across;");
  text_.line("const u32 row0 = (above + in_group % high) * tile, column0 = in_group / high * tile;");
  text_.line("Index i = index_of(args, plane * (" + rows + " * " + columns + "));");
  text_.line("i.i" + number(form.row_axis) + " = row0;");
  text_.line("i.i" + number(form.column_axis) + " = column0;");
  text_.line("const i64 r = 0;");
  text_.line("const Side left = " + mma_side(mma.left, form.row_axis, "row0", 1) + ";");
  text_.line("const Side right = " + mma_side(mma.right, form.column_axis, "column0", 2) + ";");
  text_.line("float sum[tile / 32][4][4] = {};");
  text_.line("multiply<" + turned(mma.left, form.row_axis) + ", " + turned(mma.right, form.column_axis) +
             ", tile>(sum, memory, left, right, (i32)args.n" + number(k_.sequential) + ");");
  text_.line("copies_wait<0>();");
  text_.line("__syncthreads();  // stages are no longer needed");
  text_.line("const u32 warp = threadIdx.x / 32;");
  text_.line("float* const rows = (float*)memory + warp * (32 * 33);");
  text_.line("const u32 column = column0 + warp % (tile / 32) * 32;");
  text_.line("#pragma unroll 1");
  text_.open("for (u32 part = 0; part < tile / 64; ++part)");
  text_.line("const u32 row = row0 + warp / (tile / 32) * (tile / 2) + part * 32;");
  text_.line("__syncwarp();");
  text_.line("spread(rows, sum[0]), spread(rows + 16 * 33, sum[1]);");
  text_.line("// Then the others: registers have no index.");
  text_.line("#pragma unroll");
  text_.line(
      "for (u32 j = 0; j < 32; ++j) sum[j / 16][j / 4 % 4][j % 4] = sum[tile / 32 - 2 + j / 16][j / 4 % 4][j "
      "% 4];");
  text_.line("__syncwarp();");
  write_mma_epilogue(form);
  text_.close();
  text_.close();
  text_.directive("#endif");
  for (const int tile : kMmaTiles) {
    // 16 warps of 128 registers fill a multiprocessor.
    open_function(schedule_.mma + (tile != kMmaTiles[0]), tile * 2, 512 / (tile * 2));
    text_.directive(kGuard);
    text_.line("__shared__ __align__(16) char memory[" + number(tile * 64 * 6) + "];");
    text_.line("compute_tile<" + number(tile) + ">(args, memory);");
    text_.directive("#endif");
    text_.close();
  }
}

}  // namespace lazy::cuda_backend
