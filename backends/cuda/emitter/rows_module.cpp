#include "backends/cuda/emitter/rows_module.hpp"

#include <algorithm>

#include "backends/cuda/emitter/cost.hpp"
#include "backends/cuda/emitter/reduction_writer.hpp"
#include "backends/cuda/emitter/types.hpp"

namespace lazy::cuda_backend {
using jit::loop::Form;
using jit::loop::FusedRows;
using jit::loop::LoopKernel;
namespace {

constexpr uint32_t kRowThreads = 128;  // of a block, at most: a warp for each of four rows
/// A row has at most so many bytes. Beyond, so few rows are under way on a multiprocessor that going through
/// memory between kernels costs no more.
constexpr int64_t kMostRowBytes = 32 << 10;
constexpr int64_t kSharedBytes = 48 << 10;  // bytes of a block on any device, without a query
constexpr int64_t kShortest = 64, kLongest = 16384;

Schedule member_schedule(const LoopKernel& k) {
  Schedule s = Schedule::of(k);
  const size_t end = k.has_epilogue() ? k.epilogue : k.body.size();
  const int loads = std::max(1, count_loads(k, 0, end, k.rank - 1));
  const int cost = cost_of(k, 0, end);
  // Each warp has more loads under way where code is short, in the little space that shared memory leaves.
  const int most = cost <= 4 && k.form == Form::reduce ? 16 : 8;
  s.layout = Layout::rows;
  s.transposed_axis = -1;
  s.vector = 1;
  s.unroll = std::clamp(most / loads, cost <= 16 ? 4 : 2, std::max(2, 256 / std::max(1, cost))) / 2 * 2;
  return s;
}

}  // namespace

RowsSchedule RowsSchedule::of(const FusedRows& r) {
  RowsSchedule s;
  std::string name = "lazy_rows";
  int words = 0;
  for (const FusedRows::Inner& i : r.inner) s.own.push_back({i.dtype, i.whole, 0});
  for (size_t m = 0; m < r.members.size(); ++m) {
    const LoopKernel& k = r.members[m].kernel;
    ScheduledMember made{k, member_schedule(k), jit::loop::layout_of(k), words, r.members[m].inner};
    made.kernel.sequential = static_cast<int8_t>(k.rank - 1);
    words += made.args.words();
    for (size_t o = 0; o < k.operands.size(); ++o)
      if (k.operands[o].output && r.members[m].inner[o] >= 0)
        s.own[static_cast<size_t>(r.members[m].inner[o])].writer = static_cast<int>(m);
    s.members.push_back(std::move(made));
    for (const auto& reduction : k.reductions) name += std::string("_") + jit::name_of(reduction.op);
  }
  s.functions = {name};
  s.args_in_memory = words > kMostWords;
  s.text = "rows, a warp each, " + std::to_string(r.members.size()) + " kernels in one, " +
           std::to_string(r.inner.size()) + " values of a row's own";
  return s;
}

int64_t RowsSchedule::length(const uint64_t* args, size_t member) const {
  const ScheduledMember& m = members[member];
  return static_cast<int64_t>(args[m.offset + m.args.extent(m.args.rank - 1)]);
}

int64_t RowsSchedule::row_bytes(const uint64_t* args) const {
  int64_t bytes = 0;
  for (const Own& v : own)
    if (v.whole)
      bytes += (length(args, static_cast<size_t>(v.writer)) * static_cast<int64_t>(size_of(v.dtype)) + 15) /
               16 * 16;
  return bytes;
}

int64_t RowsSchedule::rows(const uint64_t* args) const {
  int64_t n = 1;
  for (int a = 0; a + 1 < members[0].args.rank; ++a)
    n *= static_cast<int64_t>(args[members[0].args.extent(a)]);
  return n;
}

bool RowsSchedule::takes(const uint64_t* args) const {
  int64_t longest = 0;
  for (size_t m = 0; m < members.size(); ++m) longest = std::max(longest, length(args, m));
  return longest >= kShortest && longest <= kLongest && row_bytes(args) <= kMostRowBytes &&
         rows(args) < (int64_t{1} << 31);
}

Launch RowsSchedule::plan(uint64_t* args) const {
  const int64_t bytes = row_bytes(args);
  const int64_t warps = std::clamp<int64_t>(kSharedBytes / std::max<int64_t>(bytes, 1), 1,
                                            static_cast<int64_t>(kRowThreads / 32));
  args[jit::loop::ArgLayout::kPlanned] = static_cast<uint64_t>(bytes);
  return {0, static_cast<uint32_t>(32 * warps), static_cast<uint32_t>((rows(args) + warps - 1) / warps),
          static_cast<uint32_t>(warps * bytes)};
}

namespace {

class MemberWriter : public ReductionWriter {
 public:
  using ReductionWriter::ReductionWriter;
  /// Writes the member's part: `args`, `row`, `lane` are there.
  void write();
};

void MemberWriter::write() {
  text_.line("const Index" + member_.suffix + " i = index_of" + member_.suffix + "(args, row);");
  text_.line("const i64 begin = 0, end = args.n" + number(k_.sequential) + ";");
  load_fixed();
  if (k_.form == Form::map) {
    text_.open("for (i64 first = lane; first < end; first += " + number(32 * schedule_.unroll) + ")");
    write_steps("32", nullptr);
    text_.close();
    return;
  }
  write_lane_sums();
  // Every lane has the results: a value that belongs to the row is a variable of each lane.
  for (size_t j = 0; j < reductions_.size(); ++j)
    text_.line(folded(j) + " = " + reductions_.from_lane(j, folded(j), "0") + ";");
  Place place;
  place.load = [&](uint16_t o) { return address(o).access(); };
  place.index = [&](int axis) { return index(axis); };
  place.result = [&](uint16_t j) {
    return reductions_.result(j, folded(j), "args.n" + number(k_.sequential) + " == 0");
  };
  values_.write(text_, k_.epilogue, k_.body.size(), place);
  for (const auto& s : k_.stores) {
    if (s.value < k_.epilogue) continue;
    const bool own = (*member_.inner)[s.operand] >= 0;
    text_.line((own ? "" : "if (lane == 0) ") + address(s.operand).access() + " = " + values_[s.value] + ";");
  }
}

}  // namespace

std::string emit(const FusedRows& r, const RowsSchedule& s, size_t) {
  Prelude prelude;
  Text indices, body, head;
  std::vector<bool> whole;
  for (const RowsSchedule::Own& v : s.own) whole.push_back(v.whole);
  std::string structs, all;
  bool halves[2] = {};
  const std::string& at = r.members.back().kernel.at;
  for (size_t m = 0; m < r.members.size(); ++m) {
    const ScheduledMember& member = s.members[m];
    const std::string n = number(static_cast<int64_t>(m));
    {
      Writer index(member.kernel, member.schedule, prelude, indices, {n, &r.members[m].inner, &whole});
      index.write_index(1);
      structs += index.arguments();
    }
    all += "  Args" + n + " s" + n + ";\n";
    for (const auto& in : member.kernel.body) {
      halves[0] |= in.type == float16;
      halves[1] |= in.type == bfloat16;
    }
  }
  body.line("");
  body.open("extern \"C\" __global__ void __launch_bounds__(" + number(kRowThreads) + ") " + s.functions[0] +
            (s.args_in_memory ? "(const Args* const in_memory)" : "(const __grid_constant__ Args args)"));
  body.line(s.args_in_memory ? "const Args& all = *in_memory;" : "const Args& all = args;");
  body.line("const u32 lanes = 32, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;");
  body.line("const u32 row = blockIdx.x * (blockDim.x >> 5) + warp;");
  std::string rows = "1u";
  for (int a = 0; a + 1 < s.members[0].args.rank; ++a) rows += " * (u32)all.s0.n" + number(a);
  body.line("if (row >= " + rows + ") return;");
  if (std::find(whole.begin(), whole.end(), true) != whole.end())
    body.line("char* own = row_memory() + warp * (u32)all.s0.planned;");
  for (size_t v = 0; v < s.own.size(); ++v) {
    const std::string name = "own" + number(static_cast<int64_t>(v)), type = spelled(s.own[v].dtype);
    if (!s.own[v].whole) {
      body.line(type + " " + name + "[1];");
      continue;
    }
    const auto& writer = s.members[static_cast<size_t>(s.own[v].writer)];
    body.line(type + "* const " + name + " = (" + type + "*)own;");
    body.line("own += ((u32)all.s" + number(s.own[v].writer) + ".n" + number(writer.args.rank - 1) + " * " +
              number(static_cast<int64_t>(size_of(s.own[v].dtype))) + " + 15) / 16 * 16;");
  }
  for (size_t m = 0; m < r.members.size(); ++m) {
    const ScheduledMember& member = s.members[m];
    const std::string n = number(static_cast<int64_t>(m));
    if (!member.kernel.name.empty())
      body.line("// " + member.kernel.name + (member.kernel.at.empty() ? "" : " at " + member.kernel.at));
    body.open("");
    body.line("const Args" + n + "& args = all.s" + n + ";");
    MemberWriter(member.kernel, member.schedule, prelude, body, {n, &r.members[m].inner, &whole}).write();
    body.close();
    if (m + 1 < r.members.size()) body.line("__syncwarp(0xffffffffu);");
  }
  body.close();
  std::string text = at.empty() ? "" : "// up to " + at + "\n";
  text += "// " + s.text + "\n" + module_head(halves[0], halves[1]) + structs + "struct Args {\n" + all +
          "};\n\n";
  if (std::find(whole.begin(), whole.end(), true) != whole.end())
    text +=
        "#ifdef LAZY_EMULATED\n"
        "static char* row_memory() { return (char*)EMULATED_DYNAMIC_SHARED; }\n"
        "#else\n"
        "extern __shared__ __align__(16) char row_memory_of_block[];\n"
        "static __device__ __forceinline__ char* row_memory() { return row_memory_of_block; }\n"
        "#endif\n";
  return text + prelude.text() + indices.take() + body.take();
}

}  // namespace lazy::cuda_backend
