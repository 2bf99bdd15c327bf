#include "backends/cuda/emitter/writer.hpp"

#include <algorithm>

#include "backends/cuda/emitter/cost.hpp"
#include "backends/cuda/emitter/types.hpp"

namespace lazy::cuda_backend {
using jit::loop::Code;
using jit::loop::Stride;
namespace {

constexpr const char* kHead =
    "typedef signed char i8;\n"
    "typedef unsigned char u8;\n"
    "typedef short i16;\n"
    "typedef unsigned short u16;\n"
    "typedef int i32;\n"
    "typedef unsigned int u32;\n"
    "typedef long long i64;\n"
    "typedef unsigned long long u64;\n";

/// If a body costs no more, copies for what is left of a block may be as many as for its inside.
constexpr int kShortBody = 8;

}  // namespace

std::string module_head(bool uses_float16, bool uses_bfloat16) {
  std::string s = kHead;
  if (uses_float16) s += "struct f16 { u16 bits; };\n";
  if (uses_bfloat16) s += "struct bf16 { u16 bits; };\n";
  return s +
         "#ifdef LAZY_EMULATED\n#define __grid_constant__\n#else\n#pragma nv_diag_suppress 177  // values "
         "that "
         "nothing needs\n#endif\n\n";
}

std::string Writer::operand_name(int operand) const {
  return (k_.operands[static_cast<size_t>(operand)].output ? "y" : "x") + number(operand);
}
std::string Writer::element_type(int operand) const {
  return spelled(k_.operands[static_cast<size_t>(operand)].dtype);
}

std::string Writer::arguments() const {
  Text t;
  t.line("// The words of a launch; strides in bytes.");
  t.open("struct Args" + member_.suffix);
  t.line("void* context;");
  t.line("char* scratch;");
  t.line("i64 split, planned;");
  std::string extents = "i64 ", origins = "i64 ";
  for (int a = 0; a < k_.rank; ++a) {
    extents += (a ? ", n" : "n") + number(a);
    origins += (a ? ", origin" : "origin") + number(a);
  }
  t.line(extents + ";");
  t.line(origins + ";");
  for (int o = 0; o < static_cast<int>(k_.operands.size()); ++o) {
    const std::string name = operand_name(o);
    t.line(std::string(k_.operands[static_cast<size_t>(o)].output ? "" : "const ") + element_type(o) + "* " +
           name + ";");
    std::string strides = "i64 ";
    for (int a = 0; a < k_.rank; ++a) strides += (a ? ", " : "") + name + "_" + number(a);
    t.line(strides + ";");
  }
  if (values_.has_scalar_array()) t.line("u64 s[" + number(k_.scalars) + "];");
  else
    for (int i = 0; i < k_.scalars; ++i)
      t.line(std::string("alignas(8) ") + spelled(values_.scalar_type(i)) + " s" + number(i) + ";");
  t.close("};");
  return t.take();
}

void Writer::open_function(int which, int threads, int blocks) {
  const std::string name = schedule_.functions[static_cast<size_t>(which)];
  const std::string head = "extern \"C\" __global__ void __launch_bounds__(" + number(threads) +
                           (blocks ? ", " + number(blocks) : "") + ") " + name;
  text_.line("");
  if (schedule_.args_in_memory) {
    text_.open(head + "(const Args* const memory)");
    text_.line("const Args& args = *memory;");
  } else {
    text_.open(head + "(const __grid_constant__ Args args)");
  }
}

void Writer::write_index(int vector, int held) {
  std::vector<int> axes;
  for (int a = 0; a < k_.rank; ++a)
    if (a != k_.sequential) axes.push_back(a);
  text_.line("");
  if (vector == 1) {
    std::string members;
    for (const int a : axes) members += (members.empty() ? "u32 i" : ", i") + number(a);
    text_.line("// Of the parallel axes.");
    text_.line("struct Index" + member_.suffix + " { " + members + (members.empty() ? "};" : "; };"));
    axes.erase(std::remove(axes.begin(), axes.end(), held), axes.end());
    if (schedule_.transposed_axis >= 0) return;  // it has a separate index_of
  }
  text_.open("static __device__ __forceinline__ Index" + member_.suffix + (vector > 1 ? " wide" : " ") +
             (vector > 1 ? "_index_of" : "index_of") + member_.suffix + "(const Args" + member_.suffix +
             "& args, u32 at)");
  text_.line("Index" + member_.suffix + " i" + (held < 0 ? ";" : " = {};"));
  for (size_t j = axes.size(); j-- > 0;) {
    const std::string member = "i.i" + number(axes[j]), extent = "(u32)args.n" + number(axes[j]);
    const bool in_vectors = vector > 1 && axes[j] == k_.rank - 1;
    const std::string count = in_vectors ? extent + " / " + number(vector) : extent;
    const std::string times = in_vectors ? " * " + number(vector) : "";
    if (j == 0) {
      text_.line(member + " = at" + times + ";");
    } else {
      text_.line(member + " = at % (" + count + ")" + times + ";");
      text_.line("at /= " + count + ";");
      if (in_vectors) continue;
    }
  }
  text_.line("return i;");
  text_.close();
}

Writer::Address Writer::address(int operand) {
  Address result;
  std::string bytes;
  const auto& o = k_.operands[static_cast<size_t>(operand)];
  if (const int own = member_.inner ? (*member_.inner)[static_cast<size_t>(operand)] : -1; own >= 0) {
    const std::string name = "own" + number(own);
    if (!(*member_.whole)[static_cast<size_t>(own)]) return {name, "0"};
    if (o.output) return {name, "r"};
    prelude_.need("at");  // a reader may begin further on
    return {"at(" + name + ", (i64)args." + operand_name(operand) + ")", "r"};
  }
  for (int a = 0; a < k_.rank; ++a) {
    const std::string index = a == k_.sequential ? "r" : "i.i" + number(a);
    if (o.stride[a] == Stride::any)
      bytes += (bytes.empty() ? "" : " + ") + index + " * args." + operand_name(operand) + "_" + number(a);
    if (o.stride[a] == Stride::unit) {
      // Summed as 64 bits.
      const std::string term = a == k_.sequential ? index : "(i64)" + index;
      result.element += (result.element.empty() ? "" : " + ") + term;
    }
  }
  result.base = "args." + operand_name(operand);
  if (!bytes.empty()) {
    prelude_.need("at");
    result.base = "at(" + result.base + ", " + bytes + ")";
  }
  return result;
}

std::string Writer::result_count() const {
  std::string s;
  for (int a = 0; a < k_.rank; ++a)
    if (a != k_.sequential) s += (s.empty() ? "(u32)args.n" : " * (u32)args.n") + std::to_string(a);
  return s.empty() ? "1" : s;
}

void Writer::load_where_it_stands() {
  values_.load_at = [this](uint16_t operand, const std::string& elements) {
    Address a = address(operand);
    a.element += (a.element.empty() ? "" : " + ") + elements;
    return a.access();
  };
}

std::string Writer::stride_text(int operand, int axis, const std::string& args) const {
  const auto& o = k_.operands[static_cast<size_t>(operand)];
  switch (o.stride[axis]) {
    case Stride::zero: return "0";
    case Stride::unit: return number(static_cast<int64_t>(size_of(o.dtype)));
    case Stride::any: break;
  }
  return args + "." + operand_name(operand) + "_" + number(axis);
}

std::string Writer::index(int axis) const { return axis == k_.sequential ? "r" : "(i64)i.i" + number(axis); }

std::vector<int> Writer::loaded(size_t first, size_t last) const {
  std::vector<int> v;
  for (size_t i = first; i < last; ++i) {
    const auto& in = k_.body[i];
    if (in.code == Code::load && std::find(v.begin(), v.end(), in.imm) == v.end()) v.push_back(in.imm);
  }
  return v;
}

void Writer::load_fixed() {
  for (const int o : loaded(0, body_end()))
    if (!moves(o, k_.sequential))
      text_.line("const " + element_type(o) + " " + operand_name(o) + " = " + address(o).access() + ";");
}

void Writer::open_steps(const Steps& steps) {
  if (schedule_.unroll > 1) {
    text_.line("#pragma unroll");
    text_.open("for (int u = 0; u < " + number(steps.count) + "; ++u)");
    // Not a break: short bodies become predicated instructions.
    const std::string step = steps.stride == "1" ? "u" : "u * " + steps.stride;
    text_.open(steps.all_there ? "" : "if (" + step + " < left)");
    text_.line("const i64 r = first + " + step + ";");
  } else {
    text_.open("");
    text_.line("const i64 r = first;");
  }
}
void Writer::close_steps() {
  if (schedule_.unroll > 1) text_.close();
  text_.close();
}

void Writer::add(const std::function<std::string(size_t j)>& accumulator) {
  if (k_.form == jit::loop::Form::contract) {
    const jit::loop::Contraction& c = k_.contraction;
    return reductions_.add_product(text_, accumulator(0), values_[c.left.value], values_[c.right.value]);
  }
  for (size_t j = 0; j < reductions_.size(); ++j)
    reductions_.add(text_, j, accumulator(j), values_[k_.reductions[j].value], "r");
}

void Writer::write_steps(const std::string& stride, const std::function<void()>& add) {
  const int n = schedule_.unroll;
  const bool rows = schedule_.layout == Layout::rows;
  if (n == 1) return write_copies({stride, 1, true}, add);
  if (!rows && schedule_.layout != Layout::columns) {
    text_.line("const i64 left = end - first;");
    return write_copies({stride, n, false}, add);
  }
  // The steps left of a block fit 32 bits. A warp's lanes go the same way: where all of them have all steps,
  // none is tested.
  text_.line("const i32 left = (i32)(end - first);");
  text_.open(rows ? "if (left + (i32)lane >= 32 * " + number(n) + ")"
                  : "if (left > " + stride + " * " + number(n - 1) + ")");
  write_copies({stride, n, true}, add);
  text_.close();
  text_.open("else");
  if (cost_of(k_, 0, body_end()) <= kShortBody) {
    write_copies({stride, n, false}, add);
  } else {
    // Two at a time, as accumulators take turns: what comes once need not be there many times.
    text_.line("#pragma unroll 1");
    text_.open("for (i64 rest = first; rest < end; rest += 2 * " + stride + ")");
    text_.line("const i64 first = rest;");
    text_.line("const i32 left = (i32)(end - first);");
    write_copies({stride, 2, false}, add);
    text_.close();
  }
  text_.close();
}

void Writer::write_copies(const Steps& steps, const std::function<void()>& add) {
  const int n = steps.count;
  std::vector<int> moving;
  for (const int o : loaded(0, body_end()))
    if (moves(o, k_.sequential)) moving.push_back(o);
  for (const int o : moving)
    text_.line(element_type(o) + " " + operand_name(o) + (n > 1 ? "[" + number(n) + "]" : "") + ";");
  if (!moving.empty()) {
    open_steps(steps);
    for (const int o : moving) text_.line(operand_name(o) + step() + " = " + address(o).access() + ";");
    close_steps();
  }
  open_steps(steps);
  Place place;
  place.load = [&](uint16_t o) { return operand_name(o) + (moves(o, k_.sequential) ? step() : ""); };
  place.index = [&](int axis) { return index(axis); };
  place.result = [&](uint16_t j) { return reductions_.name(j); };
  if (k_.form == jit::loop::Form::scan)
    // A running sum includes the value of this very index as soon as that is known.
    place.then = [&](jit::loop::ValueId v) {
      for (size_t j = 0; j < reductions_.size(); ++j)
        if (k_.reductions[j].value == v) reductions_.combine(text_, j, reductions_.name(j), values_[v]);
    };
  values_.write(text_, 0, body_end(), place);
  if (add) add();
  store(0, body_end());
  close_steps();
}

void Writer::store(size_t first, size_t last) {
  for (const auto& s : k_.stores)
    if (s.value >= first && s.value < last)
      text_.line(address(s.operand).access() + " = " + values_[s.value] + ";");
}

void Writer::write_epilogue(const std::function<std::string(size_t j)>& accumulator) {
  Place place;
  place.load = [&](uint16_t o) { return address(o).access(); };
  place.index = [&](int axis) { return index(axis); };
  place.result = [&](uint16_t j) {
    return reductions_.result(j, accumulator(j), "args.n" + number(k_.sequential) + " == 0");
  };
  values_.write(text_, k_.epilogue, k_.body.size(), place);
  store(k_.epilogue, k_.body.size());
}

void Writer::open_sequence(const std::function<void()>& add) {
  write_index(1);
  open_function(0, schedule_.threads);
  text_.line("const u32 item = blockIdx.x * " + std::to_string(schedule_.threads) + " + threadIdx.x;");
  text_.line("if (item >= " + result_count() + ") return;");
  text_.line("const Index i = index_of(args, item);");
  text_.line("const i64 end = args.n" + std::to_string(k_.sequential) + ";");
  load_fixed();
  for (size_t j = 0; j < reductions_.size(); ++j)
    text_.line(reductions_.type(j) + " " + reductions_.name(j) + " = " + reductions_.start(j) + ";");
  text_.open("for (i64 first = 0; first < end; first += " + std::to_string(schedule_.unroll) + ")");
  write_steps("1", add);
  text_.close();
}

}  // namespace lazy::cuda_backend
