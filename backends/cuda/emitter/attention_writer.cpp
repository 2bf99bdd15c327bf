#include "backends/cuda/emitter/attention_writer.hpp"

#include <algorithm>

#include "backends/cuda/emitter/expression.hpp"
#include "backends/cuda/emitter/types.hpp"

namespace lazy::cuda_backend {
using jit::loop::Attention;
using jit::loop::FusedRows;
using jit::loop::LoopKernel;
using jit::loop::ValueId;
AttentionWriter::AttentionWriter(const FusedRows& r, const AttentionSchedule& s)
    : rows_(r), schedule_(s), form_(s.form) {
  for (const FusedRows::Inner& i : r.inner) whole_.push_back(i.whole);
  for (size_t m = 0; m < r.members.size(); ++m)
    writers_.push_back(
        std::make_unique<ProductWriter>(s.members[m].kernel, s.members[m].schedule, prelude_, text_,
                                        Member{std::to_string(m), &r.members[m].inner, &whole_}));
}

void AttentionWriter::each(const char* variable, int count, const std::function<void()>& body) {
  const std::string v = variable;
  text_.line("#pragma unroll");
  text_.open("for (int " + v + " = 0; " + v + " < " + number(count) + "; ++" + v + ")");
  body();
  text_.close();
}

void AttentionWriter::open_member(size_t member) {
  const std::string n = std::to_string(member);
  text_.open("");
  text_.line("const Args" + n + "& args = all.s" + n + ";");
  text_.line("Index" + n + " i = i" + n + ";");
  text_.line("i.i" + number(schedule_.row_axis(member)) + " += y;");
}

const Values& AttentionWriter::evaluate(size_t member, size_t first, size_t last,
                                        const std::function<std::string(int16_t value)>& own,
                                        const std::string& result) {
  Writer& w = *writers_[member];
  Place place;
  place.load = [&](uint16_t o) {
    const int16_t value = rows_.members[member].inner[o];
    return value >= 0 ? own(value) : w.address(o).access();
  };
  place.index = [&](int axis) { return w.index(axis); };
  place.result = [&](uint16_t) { return result; };
  w.values().write(text_, first, last, place);
  return w.values();
}

std::string AttentionWriter::as_own(int16_t value, const std::string& f32) {
  return expression(prelude_, jit::Op::cast, float32, rows_.inner[static_cast<size_t>(value)].dtype,
                    {f32, {}, {}});
}

void AttentionWriter::write_unseen() {
  // -inf less -inf.
  if (!form_.finite_top) text_.line(std::string("if (top[y] == ") + kLowest + ") sum = top[y] - top[y];");
}

void AttentionWriter::write_head(size_t function) {
  const std::string name = schedule_.functions[function], queries = number(kAttentionQueries);
  text_.line("");
  text_.open(
      "extern \"C\" __global__ void __launch_bounds__(" + number(kAttentionThreads) + ") " + name +
      (schedule_.args_in_memory ? "(const Args* const in_memory)" : "(const __grid_constant__ Args all)"));
  if (schedule_.args_in_memory) text_.line("const Args& all = *in_memory;");
  text_.line(
      "// Queries of this block: those that share their keys from `first` on, of which `left` are left.");
  text_.line("const u32 sharing = (u32)all.s0.planned, across = (sharing + " + number(kAttentionQueries - 1) +
             ") / " + queries + ";");
  // Where later queries see more keys these go first, so that no long block begins when others end.
  const std::string block = "blockIdx.x % across";
  text_.line("const u32 first = " + (form_.hidden < 0 ? block : "(across - 1 - " + block + ")") + " * " +
             queries + ", left = sharing - first;");
  text_.line("const u32 row = blockIdx.x / across * sharing + first;");
  for (size_t m = 0; m < writers_.size(); ++m) {
    const std::string n = std::to_string(m);
    text_.line("const Index" + n + " i" + n + " = index_of" + n + "(all.s" + n + ", row);");
  }
  text_.line("i32 keys = (i32)all.s0.n" + number(form_.scores.column_axis) + ";");
  write_hidden();
  write_row_memory();
}

void AttentionWriter::write_row_memory() {
  const std::string queries = number(kAttentionQueries);
  text_.line(
      "// Of each query: the largest value, what is subtracted from values, the sum of weights, and what");
  text_.line("// sums are multiplied by when the largest changes.");
  text_.line("__shared__ float top[" + queries + "], shift[" + queries + "], total[" + queries +
             "], rescale[" + queries + "];");
  const LoopKernel& k = loop(Attention::kWeights);
  for (const auto& s : k.stores) {
    const int16_t own = rows_.members[Attention::kWeights].inner[s.operand];
    if (s.value >= k.epilogue && own >= 0)
      text_.line(std::string("__shared__ ") + spelled(k.body[s.value].type) + " own" + number(own) + "[" +
                 queries + "];");
  }
  text_.line("for (u32 y = threadIdx.x; y < " + queries + "; y += " + number(kAttentionThreads) +
             ") top[y] = shift[y] = " + kLowest + ", total[y] = 0;");
  text_.line("__syncthreads();");
}

void AttentionWriter::write_hidden() {
  if (form_.hidden < 0) return;
  const size_t m = form_.hidden_in;
  const std::string n = std::to_string(m), args = "all.s" + n, row = number(schedule_.row_axis(m)),
                    key = number(schedule_.key_axis(m)), queries = number(kAttentionQueries);
  text_.open("if (" + args + ".s" + number(form_.hidden) + " == " + kLowest + ")");
  text_.line("const i64 last = " + args + ".origin" + row + " + i" + n + ".i" + row + " + (left < " +
             queries + " ? left : " + queries + ") - " + args + ".origin" + key + ";");
  text_.line("keys = last < keys ? (i32)last : keys;");
  text_.close();
}

void AttentionWriter::write_value(const std::string& there) {
  const LoopKernel &a = loop(Attention::kScores), &b = loop(Attention::kTop);
  const ValueId handed = a.stores[0].value;
  text_.line(std::string("float value = ") + kLowest + ";");
  text_.open("if (" + there + ")");
  text_.line(std::string(spelled(a.body[handed].type)) + " stored;");
  open_member(Attention::kScores);
  text_.line("i.i" + number(form_.scores.column_axis) + " = (u32)key;");
  const Values& product = evaluate(Attention::kScores, a.epilogue, a.body.size(), {}, "score");
  text_.line("stored = " + product[handed] + ";");
  text_.close();
  open_member(Attention::kTop);
  text_.line("const i64 r = key;");
  const Values& values =
      evaluate(Attention::kTop, 0, b.epilogue, [](int16_t) { return std::string("stored"); }, {});
  text_.line("value = " + values[form_.largest] + ";");
  text_.close();
  text_.close();
}

void AttentionWriter::write_shift() {
  if (!form_.finite_top) return text_.line("const float shift_now = now;");
  const LoopKernel& k = loop(Attention::kTop);
  text_.line("float shift_now;");
  open_member(Attention::kTop);
  const Values& v = evaluate(Attention::kTop, k.epilogue, k.body.size(), {}, "now");
  for (const auto& s : k.stores)
    if (s.value >= k.epilogue)
      text_.line("shift_now = " +
                 expression(prelude_, jit::Op::cast, k.body[s.value].type, float32, {v[s.value], {}, {}}) +
                 ";");
  text_.close();
}

void AttentionWriter::write_row_results() {
  constexpr size_t member = Attention::kWeights;
  const LoopKernel& k = loop(member);
  text_.line("float sum = total[y];");
  write_unseen();
  open_member(member);
  const Values& v = evaluate(
      member, k.epilogue, k.body.size(), [&](int16_t value) { return as_own(value, "shift[y]"); }, "sum");
  for (const auto& s : k.stores) {
    if (s.value < k.epilogue) continue;
    const int16_t own = rows_.members[member].inner[s.operand];
    text_.line((own >= 0 ? "own" + number(own) + "[y]" : writers_[member]->address(s.operand).access()) +
               " = " + v[s.value] + ";");
  }
  text_.close();
}

void AttentionWriter::write_result() {
  const LoopKernel& k = loop(form_.last);
  const auto own = [&](int16_t value) {
    return value == form_.top ? as_own(value, "shift[y]") : "own" + number(value) + "[y]";
  };
  write_unseen();
  if (form_.quotients) {
    const DType t = rows_.inner[static_cast<size_t>(form_.divisor)].dtype;
    text_.line("sum = sum / " +
               expression(prelude_, jit::Op::cast, t, float32, {own(form_.divisor), {}, {}}) + ";");
  }
  open_member(form_.last);
  text_.line("i.i" + number(form_.values.column_axis) + " = x;");
  const Values& v = evaluate(form_.last, k.epilogue, k.body.size(), own, "sum");
  for (const auto& s : k.stores)
    text_.line(writers_[form_.last]->address(s.operand).access() + " = " + v[s.value] + ";");
  text_.close();
}

void AttentionWriter::write_results(int groups, const std::function<void(const std::string& group)>& put,
                                    const std::string& there) {
  const std::string width = "all.s" + std::to_string(form_.last) + ".n" + number(form_.values.column_axis),
                    keys = number(kAttentionKeys);
  text_.line("#pragma unroll 1");
  text_.open("for (u32 g = 0; g < " + number(groups) + "; ++g)");
  text_.line("__syncthreads();");
  for (int g = 0; g < groups; ++g) {  // registers have no index
    text_.open("if (g == " + number(g) + ")");
    put(number(g));
    text_.close();
  }
  text_.line("__syncthreads();");
  text_.line("#pragma unroll 1");
  text_.open("for (u32 e = threadIdx.x; e < " + number(kAttentionQueries * kAttentionKeys) +
             "; e += " + number(kAttentionThreads) + ")");
  text_.line("const u32 y = e / " + keys + ", x = g * " + keys + " + e % " + keys + ";");
  text_.line("if (y >= left || x >= (u32)" + width + ") continue;");
  text_.line("float sum = " + there + ";");
  write_result();
  text_.close();
  text_.close();
}

std::string AttentionWriter::module(size_t function) {
  Text indices;
  std::string structs, all;
  bool halves[2] = {};
  for (size_t m = 0; m < writers_.size(); ++m) {
    const ScheduledMember& member = schedule_.members[m];
    const std::string n = std::to_string(m);
    Writer index(member.kernel, member.schedule, prelude_, indices, {n, &rows_.members[m].inner, &whole_});
    const bool product = m == Attention::kScores || m == form_.last;
    index.write_index(1, product ? member.kernel.rank - 1 : -1);
    structs += index.arguments();
    all += "  Args" + n + " s" + n + ";\n";
    for (const auto& in : member.kernel.body) {
      halves[0] |= in.type == float16;
      halves[1] |= in.type == bfloat16;
    }
  }
  if (schedule_.tensor_cores) write_mma(function, kAttentionColumns[function]);
  else write_tiles(function, kAttentionColumns[function]);
  std::string text;
  for (const auto& member : rows_.members)
    if (!member.kernel.name.empty())
      text += "// " + member.kernel.name + (member.kernel.at.empty() ? "" : " at " + member.kernel.at) + "\n";
  text += "// " + schedule_.text + "\n" + module_head(halves[0], halves[1]) + structs + "struct Args {\n" +
          all + "};\n\n";
  return text + prelude_.text() + indices.take() + text_.take();
}

std::string emit(const FusedRows& r, const AttentionSchedule& s, size_t function) {
  return AttentionWriter(r, s).module(function);
}

}  // namespace lazy::cuda_backend
