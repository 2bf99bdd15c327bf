// Writes an attention by fused multiply-adds: both products by tiles that come through shared memory, 16
// steps at a time (write_tiles.cpp), scores and weights between them in shared memory too.
#include "backends/cuda/emitter/attention_writer.hpp"
#include "backends/cuda/emitter/recipe.hpp"
#include "backends/cuda/emitter/tiles.hpp"

namespace lazy::cuda_backend {
using jit::loop::LoopKernel;
namespace {

/// A thread has so many queries times so many keys, or columns.
constexpr int kQueries = 8, kColumns = 4;
/// Rows of a tile in shared memory are so much longer than it, so that its columns lie in different banks.
constexpr int kAttentionPad = 4;
constexpr int kRow = kAttentionQueries + kAttentionPad;

}  // namespace

std::pair<const jit::loop::Side&, int> AttentionWriter::side_of(size_t member, const char* name) const {
  const LoopKernel& k = loop(member);
  if (name[0] == 'l') return {k.contraction.left, k.contraction.row};
  return {k.contraction.right, k.rank - 1};
}

/// Loads of one side of a member's product: of its left side the block's queries, of its right side columns.
void AttentionWriter::stage(size_t member, const char* side, int tile, const std::string& origin,
                            const std::string& first, const std::string& end) {
  const auto [tile_side, axis] = side_of(member, side);
  const std::string n = std::to_string(member);
  text_.open("");
  text_.line("const Args" + n + "& args = all.s" + n + ";");
  text_.line("Index" + n + " i = i" + n + ";");
  text_.line("const i64 next = " + first + ", end = " + end + ";");
  writers_[member]->load_tile(side, tile_side, axis, origin, tile);
  text_.close();
}

void AttentionWriter::put(size_t member, const char* side, int tile) {
  const auto [tile_side, axis] = side_of(member, side);
  each("u", tile * kDepth / kAttentionThreads, [&] {
    text_.line("const u32 e = threadIdx.x + u * " + number(kAttentionThreads) + ";");
    text_.line(side + writers_[member]->place_in_tile(tile_side, axis, tile) + " = " + side + "_next[u];");
  });
}

void AttentionWriter::write_tile_step() {
  text_.line("");
  text_.line("// One step of a thread's part of a product.");
  text_.open(
      "static __device__ __forceinline__ void multiply(float (&sum)[8][4], const float* left, const float* "
      "right)");
  each("y", kQueries,
       [&] { each("x", kColumns, [&] { text_.line("sum[y][x] = fmaf(left[y], right[x], sum[y][x]);"); }); });
  text_.close();
}

void AttentionWriter::put_in_tile(const std::string& from) {
  each("x", kColumns, [&] {
    for (const std::string y : {"0", "4"}) {
      std::string four;
      for (int j = 0; j < 4; ++j) four += (j ? ", " : "") + from + "[" + number(std::stoi(y) + j) + "][x]";
      text_.line("wide<4>(&tile[x0 + x][y0 + " + y + "]) = {{" + four + "}};");
    }
  });
}

void AttentionWriter::write_tile_scores() {
  const std::string depth = number(kDepth);
  text_.open("");
  text_.line("float sum[8][4] = {};");
  text_.line("const i64 steps = all.s0.n" + number(form_.scores.summed_axis) + ";");
  text_.line("float left_next[" + number(kAttentionQueries * kDepth / kAttentionThreads) + "], right_next[" +
             number(kAttentionKeys * kDepth / kAttentionThreads) + "];");
  // The first round only loads.
  text_.line("#pragma unroll 1");
  text_.open("for (i64 step = -" + depth + "; step < steps; step += " + depth + ")");
  text_.line("__syncthreads();");
  text_.open("if (step >= 0)");
  text_.line("float (*const left)[" + number(kRow) + "] = tile;");
  put(0, "left", kAttentionQueries);
  put(0, "right", kAttentionKeys);
  text_.close();
  text_.line("__syncthreads();");
  text_.open("if (step + " + depth + " < steps)");
  stage(0, "left", kAttentionQueries, "i0.i" + number(schedule_.row_axis(0)), "step + " + depth, "steps");
  stage(0, "right", kAttentionKeys, "(u32)key0", "step + " + depth, "steps");
  text_.close();
  text_.line("if (step < 0) continue;");
  text_.line("#pragma unroll 2");
  text_.line("for (int s = 0; s < " + depth + "; ++s) multiply(sum, tile[s] + y0, right[s] + x0);");
  text_.close();
  text_.line("__syncthreads();");
  prelude_.need("wide");
  put_in_tile("sum");
  text_.close();
}

// Replaces scores by weights. Sixteen lanes have a query.
void AttentionWriter::write_tile_softmax() {
  prelude_.need("maximum_f32");
  const std::string exp = need_recipe(prelude_, jit::Op::exp, float32);
  text_.line("#pragma unroll 1");
  text_.open("for (u32 y = y0; y < y0 + 8; ++y)");
  text_.line("float now = top[y], values[4];");
  each("x", kColumns, [&] {
    text_.line("const i32 key = key0 + (i32)(x0 + x);");
    text_.line("const float score = tile[x0 + x][y];");
    write_value("y < left && key < keys");
    text_.line("values[x] = value;");
    text_.line("now = maximum_f32(now, value);");
  });
  for (const char* distance : {"8", "4", "2", "1"})
    text_.line(std::string("now = maximum_f32(now, __shfl_xor_sync(0xffffffffu, now, ") + distance + "));");
  write_shift();
  text_.line("float part = 0;");
  each("x", kColumns, [&] {
    // Before anything is seen there is nothing to subtract from.
    text_.line(std::string("const bool seen = key0 + (i32)(x0 + x) < keys && now != ") + kLowest + ";");
    text_.line("const float weight = seen ? " + exp + "(values[x] - shift_now) : 0.0f;");
    text_.line("tile[x0 + x][y] = weight;");
    text_.line("part += weight;");
  });
  for (const char* distance : {"8", "4", "2", "1"})
    text_.line(std::string("part += __shfl_xor_sync(0xffffffffu, part, ") + distance + ");");
  text_.open("if (x0 == 0)");
  text_.line(std::string("const float times = top[y] == ") + kLowest + " ? 0.0f : " + exp +
             "(shift[y] - shift_now);");
  text_.line("total[y] = total[y] * times + part;");
  text_.line("top[y] = now, shift[y] = shift_now, rescale[y] = times;");
  text_.close();
  text_.close();
}

void AttentionWriter::write_tile_results(int columns) {
  const int groups = columns / kAttentionKeys;
  const std::string depth = number(kDepth), keys = number(kAttentionKeys);
  each("y", kQueries, [&] {
    text_.line("const float times = rescale[y0 + y];");
    each("g", groups, [&] { each("x", kColumns, [&] { text_.line("results[g][y][x] *= times;"); }); });
  });

  text_.line("#pragma unroll 1");
  text_.open("for (int part = 0; part < " + keys + "; part += " + depth + ")");
  text_.line("float right_next[" + number(columns * kDepth / kAttentionThreads) + "];");
  stage(form_.last, "right", columns, "0", "key0 + part", "keys");
  text_.line("__syncthreads();");
  put(form_.last, "right", columns);
  text_.line("__syncthreads();");
  text_.line("#pragma unroll 2");
  text_.open("for (int s = 0; s < " + depth + "; ++s)");
  each("g", groups,
       [&] { text_.line("multiply(results[g], tile[part + s] + y0, right[s] + x0 + g * " + keys + ");"); });
  text_.close();
  text_.close();
}

void AttentionWriter::write_tiles(size_t function, int columns) {
  const int groups = columns / kAttentionKeys;
  const std::string queries = number(kAttentionQueries), keys = number(kAttentionKeys);
  write_tile_step();
  write_head(function);
  text_.line("// Scores, then weights, at last results; before that, the queries of some steps.");
  text_.line("__shared__ __align__(16) float tile[" + keys + "][" + number(kRow) + "];");
  text_.line("__shared__ __align__(16) float right[" + number(kDepth) + "][" +
             number(columns + kAttentionPad) + "];");
  text_.line("const u32 x0 = threadIdx.x % 16 * 4, y0 = threadIdx.x / 16 * 8;");
  text_.line("float results[" + number(groups) + "][8][4] = {};");
  text_.open("for (i32 key0 = 0; key0 < keys; key0 += " + keys + ")");
  write_tile_scores();
  write_tile_softmax();
  text_.line("__syncthreads();");
  write_tile_results(columns);
  text_.close();

  text_.line("__syncthreads();");
  text_.open("if (const u32 y = threadIdx.x; y < " + queries + " && y < left)");
  write_row_results();
  text_.close();
  write_results(
      groups, [&](const std::string& group) { put_in_tile("results[" + group + "]"); },
      "tile[x % " + keys + "][y]");
  text_.close();
}

}  // namespace lazy::cuda_backend
