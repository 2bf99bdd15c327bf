// Writes contractions of two operands of one 16-bit type, summed in float32 by tensor cores: in another order
// than the loop IR's, so a launch takes this way only where any order will do. A block has a tile of results;
// both sides come to shared memory by asynchronous copies, two stages ahead of the one that is multiplied.
#include <algorithm>

#include "backends/cuda/emitter/cost.hpp"
#include "backends/cuda/emitter/product_writer.hpp"
#include "backends/cuda/emitter/tiles.hpp"
#include "backends/cuda/emitter/types.hpp"

namespace lazy::cuda_backend {
using jit::loop::Code;
using jit::loop::Stride;
namespace {

/// `$t` is f16 or bf16.
const char* const kProductText =
    R"(// p, in a register: what went through a shuffle is not computed anew wherever it is used.
static __device__ __forceinline__ Shared kept(Shared p) {
  return (Shared)__shfl_sync(0xffffffffu, (u64)p, threadIdx.x % 32);
}

// A thread's part in copying one side of a product, whose lines are rows or columns of the results.
struct Side {
  const char* from;  // its first piece in the next stage: line t, step k
  i64 line, step;    // bytes from one to the next,
  i64 further;       // from a piece to the next one
  i32 lines;         // from the tile's first one on
  i32 t, k;
  bool turned;       // lines are neighbours, else steps
  bool wide;         // pieces are 16 bytes, as always in large tiles, else two elements
  Shared at;         // where the first piece goes in the first stage
};

// Where a stage has line t, step k, in bytes. Groups of 8 neighbours change places, so that 8 groups that are
// loaded at once are in different banks.
template <int tile>
static __device__ __forceinline__ u32 place(bool turned, u32 t, u32 k) {
  return turned ? k * tile * 2 + (t / 8 ^ k % 8) * 16 + t % 8 * 2 : t * 64 + (k / 8 ^ t / 2 % 4) * 16 + k % 8 * 2;
}

// `from` is the element of the tile's first line, first step.
template <int tile>
static __device__ __forceinline__ Side side(const char* from, i64 line, i64 step, i32 lines, bool turned, bool wide,
                                            Shared stages) {
  const bool by_16 = tile == 128 || wide;
  const i32 piece = by_16 ? 8 : 2, in_line = (turned ? tile : 32) / piece;
  const i32 most = (i32)threadIdx.x / in_line, least = (i32)threadIdx.x % in_line * piece;
  const i32 t = turned ? least : most, k = turned ? most : least;
  const i64 further = turned ? (by_16 ? 16 : 4) * step : (by_16 ? tile / 2 : tile / 8) * line;
  return {from + (t * line + k * step), line, step, further, lines, t, k, turned, wide,
          kept(stages + place<tile>(turned, t, k))};
}

// A stage of 32 steps, `stage` bytes after the first one. There are `left` steps, and if it is `whole` as many as
// there may be, of all lines; what is not there is 0.
template <int tile>
static __device__ __forceinline__ void fill(u32 stage, Side& s, i32 left, bool whole) {
  const char* p = s.from;
  s.from += 32 * s.step;
  if (tile == 128 || s.wide) {
    // Two pieces, half a stage apart.
    if (whole) {
      copy_async_16(s.at + stage, p, 16);
      copy_async_16(s.at + stage + tile * 32, p + s.further, 16);
    } else {
#pragma unroll
      for (i32 u = 0; u < 2; ++u, p += s.further) {
        const i32 lines = s.lines - s.t - (s.turned ? 0 : u * tile / 2), steps = left - s.k - (s.turned ? u * 16 : 0);
        const i32 there = lines <= 0 || steps <= 0 ? 0 : s.turned ? lines : steps;
        copy_async_16(s.at + stage + u * (tile * 32), p, there >= 8 ? 16 : there * 2);
      }
    }
  } else {
    const i32 lines_on = s.turned ? 0 : tile / 8, steps_on = s.turned ? 4 : 0;
    const i64 next = s.turned ? s.line : s.step;
    const Shared to = s.at + stage - place<tile>(s.turned, s.t, s.k);
#pragma unroll 1
    for (i32 u = 0; u < 8; u += 4) {
      u32 first[4] = {}, second[4] = {};
#pragma unroll
      for (i32 v = 0; v < 4; ++v, p += s.further) {
        const i32 t = s.t + (u + v) * lines_on, k = s.k + (u + v) * steps_on;
        if (t < s.lines && k < left) {
          first[v] = *(const u16*)p;
          if (s.turned ? t + 1 < s.lines : k + 1 < left) second[v] = *(const u16*)(p + next);
        }
      }
#pragma unroll
      for (i32 v = 0; v < 4; ++v)
        store_shared(to + place<tile>(s.turned, s.t + (u + v) * lines_on, s.k + (u + v) * steps_on),
                     first[v] | second[v] << 16);
    }
  }
}

// Where a lane loads from for fragments of 16 lines and 16 steps, from line t on: of lines and of steps both
// first eights, then, of rows, the later lines or, of columns, the later steps, then the other ones, then both.
// `is_turned`: no other side is.
template <bool is_turned, bool rows, int tile, int fragments>
struct Loads {
  Shared at[fragments];
  i32 later;  // bytes to the second 16 steps
  bool turned;
  __device__ __forceinline__ Loads(Shared stages, u32 t, const Side& s) : turned(s.turned) {
    const u32 lane = threadIdx.x % 32, low = lane % 8, first = lane / 8 % 2 * 8, second = lane / 16 * 8;
    t += (turned ? 0 : low) + (rows ? first : second);
    const u32 k = (turned ? low : 0) + (rows ? second : first);
    later = __shfl_sync(0xffffffffu, (i32)(place<tile>(turned, t, k + 16) - place<tile>(turned, t, k)), lane);
#pragma unroll
    for (u32 j = 0; j < fragments; ++j) at[j] = kept(stages + place<tile>(turned, t + j * 16, k));
  }
  // The j-th 16 lines, steps from k on, of the stage so many bytes after the first one.
  __device__ __forceinline__ void load(u32 (&d)[4], u32 stage, u32 j, u32 k) const {
    if (is_turned) {
      load_matrix_4_turned(d, at[j] + stage + k * (tile * 2));
    } else {
      load_matrix_4_either(d, at[j] + stage + (k == 0 ? 0 : later), turned);
    }
  }
};

// A tile's products: a warp has tile / 2 rows of 32 columns. `memory`: three stages of the left side, three of
// the right one.
template <bool left_turned, bool right_turned, int tile>
static __device__ __forceinline__ void multiply(float (&sum)[tile / 32][4][4], Shared memory, Side left, Side right,
                                                i32 steps) {
  constexpr u32 bytes = tile * 64;  // of a stage of one side
  const u32 warp = threadIdx.x / 32;
  const Loads<left_turned, true, tile, tile / 32> left_loads(memory, warp / (tile / 32) * (tile / 2), left);
  const Loads<right_turned, false, tile, 2> right_loads(memory + 3 * bytes, warp % (tile / 32) * 32, right);
  const i32 last_whole = left.lines >= tile && right.lines >= tile ? steps - 96 : -96;
  u32 filled = 0, used = 0;
#pragma unroll 1
  for (i32 at = -64; at < steps; at += 32) {
    copies_wait<1>();
    __syncthreads();
    if (at + 64 < steps) {
      fill<tile>(filled, left, steps - at - 64, at <= last_whole);
      fill<tile>(filled, right, steps - at - 64, at <= last_whole);
      filled = filled == 2 * bytes ? 0 : filled + bytes;
    }
    copies_end();
    if (at < 0) continue;
#pragma unroll
    for (u32 k = 0; k < 32; k += 16) {
      u32 a[tile / 32][4], b[4][2];
#pragma unroll
      for (u32 j = 0; j < tile / 32; ++j) left_loads.load(a[j], used, j, k);
#pragma unroll
      for (u32 j = 0; j < 2; ++j) {
        u32 both[4];
        right_loads.load(both, used, j, k);
        b[2 * j][0] = both[0], b[2 * j][1] = both[1], b[2 * j + 1][0] = both[2], b[2 * j + 1][1] = both[3];
      }
#pragma unroll
      for (u32 j = 0; j < tile / 32; ++j)
#pragma unroll
        for (u32 n = 0; n < 4; ++n) mma_$t(sum[j][n], a[j], b[n]);
    }
    used = used == 2 * bytes ? 0 : used + bytes;
  }
}

// Sums of 16 rows of 32 columns of a warp, from fragments to where lanes find neighbours along `turned` ? the
// rows : the columns. Lines there are so long that stores go to all banks.
template <bool turned>
static __device__ __forceinline__ void spread(float* sums, u32 row, const float (&sum)[4][4]) {
  const u32 lane = threadIdx.x % 32;
#pragma unroll
  for (u32 n = 0; n < 4; ++n)
#pragma unroll
    for (u32 j = 0; j < 4; j += 2) {
      const u32 y = row + lane / 4 + j * 4, x = n * 8 + lane % 4 * 2;
      if (turned) {
        sums[x * 36 + y] = sum[n][j];
        sums[(x + 1) * 36 + y] = sum[n][j + 1];
      } else {
        wide<2>(sums + y * 40 + x) = {sum[n][j], sum[n][j + 1]};
      }
    }
}

)";

/// True if lanes go along the rows in the epilogue: as the output is packed.
bool goes_by_rows(const jit::loop::LoopKernel& k) {
  return k.operands[k.stores.back().operand].stride[k.contraction.row] == Stride::unit;
}

bool is_turned(const jit::loop::LoopKernel& k, int operand, int axis) {
  return k.operands[static_cast<size_t>(operand)].stride[axis] == Stride::unit;
}

}  // namespace

/// Returns the expression that makes a side. `flag` is of Schedule::plan_mma.
std::string ProductWriter::mma_side(int operand, int axis, const char* first, int flag, const char* stages) {
  const auto& stride = k_.operands[static_cast<size_t>(operand)].stride;
  const auto planned = [](int flags) { return "(args.planned & " + number(flags) + ") != 0"; };
  const std::string turned = is_turned(k_, operand, axis)            ? "true"
                             : stride[k_.sequential] == Stride::unit ? "false"
                                                                     : planned(flag << 2);
  return "side<tile>((const char*)(" + address(operand).pointer() + "), " + stride_text(operand, axis) +
         ", " + stride_text(operand, k_.sequential) + ", (i32)((u32)args.n" + number(axis) + " - " + first +
         "), " + turned + ", " + planned(flag) + ", " + stages + ")";
}

/// Writes the epilogue of a warp's rows and columns from `row` and `column` on, 32 of each, after spread().
void ProductWriter::write_mma_epilogue() {
  const bool by_rows = goes_by_rows(k_);
  const int row_axis = k_.contraction.row, column_axis = k_.rank - 1;
  const int across = by_rows ? row_axis : column_axis, down = by_rows ? column_axis : row_axis;
  const std::string lane_member = "i.i" + number(across), member = "i.i" + number(down),
                    end = "(u32)args.n" + number(down), first = by_rows ? "column" : "row";
  const int cost = cost_of(k_, k_.epilogue, k_.body.size());
  // This many are loaded before the first is stored.
  const int n = cost <= 24 ? 4 : 2;
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
    return "sums[(e + u) * " + std::string(by_rows ? "36" : "40") + " + threadIdx.x % 32]";
  };
  values_.write(text_, k_.epilogue, k_.body.size(), place);
  store(k_.epilogue, k_.body.size());
  text_.close();
  text_.close();
  text_.close();
}

void ProductWriter::write_mma() {
  const int row_axis = k_.contraction.row, column_axis = k_.rank - 1;
  const int left = operand_of(k_, k_.contraction.left), right = operand_of(k_, k_.contraction.right);
  const std::string type = spelled(k_.operands[static_cast<size_t>(left)].dtype);
  for (const std::string& f : {"mma_" + type, std::string("load_matrix_4_either"), std::string("wide"),
                               std::string("copy_async_16"), std::string("store_shared")})
    prelude_.need(f);
  const auto turned = [&](int operand, int axis) {
    return std::string(is_turned(k_, operand, axis) ? "true" : "false");
  };
  const std::string rows = "(u32)args.n" + number(row_axis), columns = "(u32)args.n" + number(column_axis);

  text_.line("");
  text_.directive(kIfTensorCores);
  text_.append(replaced(kProductText, "$t", type));
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
  text_.line("i.i" + number(row_axis) + " = row0;");
  text_.line("i.i" + number(column_axis) + " = column0;");
  text_.line("const i64 r = 0;");
  text_.line("const Shared stages = shared_address(memory);");
  text_.line("const Side left = " + mma_side(left, row_axis, "row0", 1, "stages") + ";");
  text_.line("const Side right = " + mma_side(right, column_axis, "column0", 2, "stages + 3 * tile * 64") +
             ";");
  text_.line("float sum[tile / 32][4][4] = {};");
  text_.line("multiply<" + turned(left, row_axis) + ", " + turned(right, column_axis) +
             ", tile>(sum, stages, left, right, (i32)args.n" + number(k_.sequential) + ");");
  text_.line("copies_wait<0>();");
  text_.line("__syncthreads();  // stages are no longer needed");
  text_.line("const u32 warp = threadIdx.x / 32;");
  text_.line("float* const sums = (float*)memory + warp * (32 * 40);");
  text_.line("const u32 column = column0 + warp % (tile / 32) * 32;");
  text_.line("#pragma unroll 1");
  text_.open("for (u32 part = 0; part < tile / 64; ++part)");
  text_.line("const u32 row = row0 + warp / (tile / 32) * (tile / 2) + part * 32;");
  text_.line("__syncwarp();");
  const std::string spread = "spread<" + std::string(goes_by_rows(k_) ? "true" : "false") + ">";
  text_.line(spread + "(sums, 0, sum[0]);");
  text_.line(spread + "(sums, 16, sum[1]);");
  text_.line("// Then the others: registers have no index.");
  text_.line("#pragma unroll");
  text_.line(
      "for (u32 j = 0; j < 32; ++j) sum[j / 16][j / 4 % 4][j % 4] = sum[tile / 32 - 2 + j / 16][j / 4 % 4][j "
      "% 4];");
  text_.line("__syncwarp();");
  write_mma_epilogue();
  text_.close();
  text_.close();
  text_.directive("#endif");
  for (const int tile : kMmaTiles) {
    // 16 warps of 128 registers fill a multiprocessor.
    open_function(schedule_.mma + (tile != kMmaTiles[0]), tile * 2, 512 / (tile * 2));
    text_.directive(kIfTensorCores);
    text_.line("__shared__ __align__(16) char memory[" + number(tile * 64 * 6) + "];");
    text_.line("compute_tile<" + number(tile) + ">(args, memory);");
    text_.directive("#endif");
    text_.close();
  }
}

}  // namespace lazy::cuda_backend
