// Writes an attention by tensor cores, where queries, keys and values are 16-bit floats. A warp has 16
// queries; its scores, weights and results are fragments in registers. Of keys and values 64 are in shared
// memory: while scores are computed the values come, while results are added up the next keys. Weights are
// rounded to the type of the values.
#include "backends/cuda/emitter/attention_writer.hpp"
#include "backends/cuda/emitter/tiles.hpp"
#include "backends/cuda/emitter/types.hpp"

namespace lazy::cuda_backend {
using jit::loop::Attention;
namespace {

/// A row of results in shared memory begins so many floats after the one before.
constexpr int kResultRow = 68;

const char* const kAttentionText =
    R"(// Where 64 rows have element `column` of row `row`, in bytes: groups of 8 change places, so that those of 8
// rows that are loaded at once are in different banks.
template <int columns>
static __device__ __forceinline__ u32 place(u32 row, u32 column) {
  return row * (columns * 2) + (column / 8 ^ row % 8) * 16 + column % 8 * 2;
}

// Rows on their way there, those before `rows`, of `width` elements; what is not there is 0. `wide`: rows are packed
// and aligned to 16 bytes.
template <int columns>
static __device__ __forceinline__ void fill(Shared to, const char* from, i64 row, i64 column, i32 rows, i32 width,
                                            bool wide) {
  if (wide) {
#pragma unroll
    for (u32 u = 0; u < columns / 32; ++u) {
      const u32 e = threadIdx.x + u * 256, r = e / (columns / 8), c = e % (columns / 8) * 8;
      const i32 there = (i32)r < rows ? width - (i32)c : 0;
      copy_async_16(to + place<columns>(r, c), from + r * row + c * 2, there <= 0 ? 0 : there >= 8 ? 16 : there * 2);
    }
  } else {
#pragma unroll 1
    for (u32 e = threadIdx.x; e < columns * 32; e += 256) {
      const u32 r = e / (columns / 2), c = e % (columns / 2) * 2;
      u32 v = 0;
      if ((i32)r < rows && (i32)c < width) {
        v = *(const u16*)(from + r * row + c * column);
        if ((i32)c + 1 < width) v |= (u32)*(const u16*)(from + r * row + (c + 1) * column) << 16;
      }
      store_shared(to + place<columns>(r, c), v);
    }
  }
}

// sum += queries * keys^T, of 16 queries and 64 keys.
template <int columns>
static __device__ __forceinline__ void multiply_keys(float (&sum)[8][4], const u32 (&queries)[columns / 16][4],
                                                     Shared keys) {
  const u32 lane = threadIdx.x % 32;
  keys += (lane / 16 * 8 + lane % 8) * (columns * 2);
#pragma unroll
  for (u32 k = 0; k < columns; k += 16) {
#pragma unroll
    for (u32 n = 0; n < 4; ++n) {
      u32 b[4];
      load_matrix_4(b, keys + n * (32 * columns) + ((k / 8 + lane / 8 % 2) ^ lane % 8) * 16);
      const u32 first[2] = {b[0], b[1]}, second[2] = {b[2], b[3]};
      mma_$q(sum[2 * n], queries[k / 16], first);
      mma_$q(sum[2 * n + 1], queries[k / 16], second);
    }
  }
}

// results += weights * values, of 16 queries and 64 keys.
template <int columns>
static __device__ __forceinline__ void multiply_values(float (&results)[columns / 8][4], const float (&weights)[8][4],
                                                       Shared values) {
  const u32 lane = threadIdx.x % 32;
  values += (lane / 8 % 2 * 8 + lane % 8) * (columns * 2);
#pragma unroll
  for (u32 k = 0; k < 4; ++k) {
    const u32 a[4] = {two_$v(weights[2 * k][0], weights[2 * k][1]), two_$v(weights[2 * k][2], weights[2 * k][3]),
                      two_$v(weights[2 * k + 1][0], weights[2 * k + 1][1]),
                      two_$v(weights[2 * k + 1][2], weights[2 * k + 1][3])};
#pragma unroll
    for (u32 n = 0; n < columns / 16; ++n) {
      u32 b[4];
      load_matrix_4_turned(b, values + k * (32 * columns) + ((n * 2 + lane / 16) ^ lane % 8) * 16);
      const u32 first[2] = {b[0], b[1]}, second[2] = {b[2], b[3]};
      mma_$v(results[2 * n], a, first);
      mma_$v(results[2 * n + 1], a, second);
    }
  }
}

)";

}  // namespace

std::string AttentionWriter::stride(size_t member, int operand, int axis) const {
  return writers_[member]->stride_text(operand, axis, "all.s" + std::to_string(member));
}

void AttentionWriter::write_mma_sources() {
  text_.line("// First query, key and value.");
  text_.line("const char *queries_from, *keys_from, *values_from;");
  const auto address = [&](size_t member, int operand) {
    return "(const char*)(" + writers_[member]->address(operand).pointer() + ");";
  };
  text_.open("");
  text_.line("const Args0& args = all.s0;");
  text_.line("Index0 i = i0;");
  text_.line("const i64 r = 0;");
  text_.line("queries_from = " + address(0, form_.scores.left));
  text_.line("keys_from = " + address(0, form_.scores.right));
  text_.close();
  const std::string n = std::to_string(form_.last);
  text_.open("");
  text_.line("const Args" + n + "& args = all.s" + n + ";");
  text_.line("Index" + n + " i = i" + n + ";");
  text_.line("const i64 r = 0;");
  text_.line("values_from = " + address(form_.last, form_.values.right));
  text_.close();
  text_.line("const i32 width = (i32)all.s0.n" + number(form_.scores.summed_axis) +
             ", values_width = (i32)all.s" + n + ".n" + number(form_.values.column_axis) + ";");
}

/// Replaces scores by weights, in fragments: of a lane's two queries 16 each.
void AttentionWriter::write_mma_softmax() {
  each("h", 2, [&] {
    text_.line("const u32 query = warp * 16 + lane / 4 + h * 8, y = query < left ? query : left - 1;");
    text_.line("float now = largest[h];");
    each("x", 16, [&] {
      text_.line("float& score = sum[x / 2][h * 2 + x % 2];");
      text_.line("const i32 key = key0 + x / 2 * 8 + lane % 4 * 2 + x % 2;");
      write_value("key < keys");
      text_.line("score = value;");
      text_.line("now = maximum_f32(now, value);");
    });
    for (const char* distance : {"1", "2"})
      text_.line(std::string("now = maximum_f32(now, __shfl_xor_sync(0xffffffffu, now, ") + distance + "));");
    write_shift();
    // Before anything is seen there is nothing to subtract from.
    text_.line(std::string("const float less = now == ") + kLowest + " ? 0.0f : shift_now;");
    text_.line("float part = 0;");
    each("x", 16, [&] {
      text_.line("float& score = sum[x / 2][h * 2 + x % 2];");
      text_.line("score = exp2_approx((score - less) * 0x1.715476p+0f);");
      text_.line("part += score;");
    });
    text_.line(std::string("rescale[h] = largest[h] == ") + kLowest +
               " ? 0.0f : exp2_approx((subtracted[h] - shift_now) * 0x1.715476p+0f);");
    text_.line("added[h] = added[h] * rescale[h] + part;");
    text_.line("largest[h] = now, subtracted[h] = shift_now;");
  });
}

/// Writes the functions that the module's main function calls.
void AttentionWriter::write_mma_prelude(DType query, DType value) {
  for (const std::string& f :
       {std::string("mma_") + spelled(query), std::string("mma_") + spelled(value),
        std::string("two_") + spelled(value), std::string("load_matrix_4"),
        std::string("load_matrix_4_turned"), std::string("copy_async_16"), std::string("store_shared"),
        std::string("exp2_approx"), std::string("maximum_f32")})
    prelude_.need(f);
  text_.line("");
  text_.directive(kIfTensorCores);
  text_.append(replaced(replaced(kAttentionText, "$q", spelled(query)), "$v", spelled(value)));
  text_.directive("#endif");
}

void AttentionWriter::write_mma_queries(int columns) {
  const std::string width = number(columns), row = stride(0, form_.scores.left, form_.scores.row_axis),
                    along = stride(0, form_.scores.left, form_.scores.summed_axis);
  text_.open("for (u32 part = 0; part < 2; ++part)");
  text_.line("fill<" + width + ">(part ? values_at : keys_at, queries_from + part * 64 * " + row + ", " +
             row + ", " + along + ", (i32)left - (i32)part * 64, width, all.s0.planned >> 32 & 1);");
  text_.close();
  text_.line("copies_end();");
  text_.line("copies_wait<0>();");
  text_.line("__syncthreads();");
  text_.line("u32 queries[" + number(columns / 16) + "][4];");
  each("k", columns / 16, [&] {
    text_.line("load_matrix_4(queries[k], (warp / 4 ? values_at : keys_at) + place<" + width +
               ">(warp % 4 * 16 + lane / 8 % 2 * 8 + lane % 8, k * 16 + lane / 16 * 8));");
  });
  text_.line("__syncthreads();");
}

void AttentionWriter::write_fill(int columns, const Fill& f) {
  const std::string step = stride(f.member, f.operand, f.key_axis);
  text_.line("fill<" + number(columns) + ">(" + f.to + ", " + f.from + " + (i64)" + f.first + " * " + step +
             ", " + step + ", " + stride(f.member, f.operand, f.element_axis) + ", keys - " + f.first + ", " +
             f.elements + ", all.s0.planned >> 32 & " + number(f.packed_flag) + ");");
  text_.line("copies_end();");
}

/// Writes the loop over keys and their values, 64 at a time.
void AttentionWriter::write_mma_keys(int columns) {
  const std::string width = number(columns), keys = number(kAttentionKeys);
  // The first round only fetches keys.
  text_.line("#pragma unroll 1");
  text_.open("for (i32 key0 = -" + keys + "; key0 < keys; key0 += " + keys + ")");
  text_.line("float sum[8][4] = {}, rescale[2];");
  text_.open("if (key0 >= 0)");
  text_.line("copies_wait<0>();");
  text_.line("__syncthreads();  // these keys are there, the values before them no longer needed");
  write_fill(columns, {form_.last, form_.values.right, form_.values.summed_axis, form_.values.column_axis,
                       "values_at", "values_from", "key0", "values_width", 4});
  text_.line("multiply_keys<" + width + ">(sum, queries, keys_at);");
  write_mma_softmax();
  text_.line("copies_wait<0>();");
  text_.line("__syncthreads();  // likewise the values and the keys");
  text_.close();
  text_.open("if (key0 + " + keys + " < keys)");
  write_fill(columns, {0, form_.scores.right, form_.scores.column_axis, form_.scores.summed_axis, "keys_at",
                       "keys_from", "(key0 + " + keys + ")", "width", 2});
  text_.close();
  text_.line("if (key0 < 0) continue;");
  each("n", columns / 8, [&] { each("j", 4, [&] { text_.line("results[n][j] *= rescale[j / 2];"); }); });
  text_.line("multiply_values<" + width + ">(results, sum, values_at);");
  text_.close();
}

void AttentionWriter::write_mma_results(int columns) {
  each("h", 2, [&] {
    for (const char* distance : {"1", "2"})
      text_.line(std::string("added[h] += __shfl_xor_sync(0xffffffffu, added[h], ") + distance + ");");
    text_.line("const u32 y = warp * 16 + lane / 4 + h * 8;");
    text_.line("if (lane % 4 == 0) top[y] = largest[h], shift[y] = subtracted[h], total[y] = added[h];");
  });
  text_.line("__syncthreads();");
  text_.open("if (const u32 y = threadIdx.x; y < " + number(kAttentionQueries) + " && y < left)");
  write_row_results();
  text_.close();
  write_results(
      columns / kAttentionKeys,
      [&](const std::string& group) {
        text_.line("float* const rows = (float*)memory + (warp * 16 + lane / 4) * " + number(kResultRow) +
                   " + lane % 4 * 2;");
        each("n", 8, [&] {
          each("j", 4, [&] {
            text_.line("rows[j / 2 * " + number(8 * kResultRow) + " + n * 8 + j % 2] = results[" + group +
                       " * 8 + n][j];");
          });
        });
      },
      "((float*)memory)[y * " + number(kResultRow) + " + x % " + number(kAttentionKeys) + "]");
}

void AttentionWriter::write_mma(size_t function, int columns) {
  write_mma_prelude(loop(0).operands[form_.scores.left].dtype,
                    loop(form_.last).operands[form_.values.right].dtype);
  write_head(function);
  text_.directive(kIfTensorCores);
  text_.line("// 64 keys, 64 values; at first the queries, at last results.");
  text_.line("__shared__ __align__(16) char memory[" + number(kAttentionQueries * kResultRow * 4) + "];");
  text_.line("const Shared keys_at = shared_address(memory), values_at = keys_at + " + number(columns * 128) +
             ";");
  text_.line("const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;");
  write_mma_sources();
  write_mma_queries(columns);
  text_.line("float results[" + number(columns / 8) + "][4] = {};");
  text_.line(std::string("float largest[2] = {") + kLowest + ", " + kLowest +
             "}, subtracted[2] = {largest[0], largest[0]}, added[2] = {};");
  write_mma_keys(columns);
  write_mma_results(columns);
  text_.directive("#endif");
  text_.close();
}

}  // namespace lazy::cuda_backend
