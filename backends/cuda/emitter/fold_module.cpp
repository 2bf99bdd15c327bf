#include "backends/cuda/emitter/fold_module.hpp"

#include "backends/cuda/emitter/text.hpp"
#include "backends/cuda/emitter/types.hpp"
#include "backends/cuda/emitter/writer.hpp"

namespace lazy::cuda_backend {
namespace {
using jit::Op;

/// Returns an element combined with the next one, both as computed with.
std::string folded(DType t, Op op, const std::string& a, const std::string& b) {
  switch (op) {
    // A NaN stays, whichever comes first.
    case Op::minimum: return b + " < " + a + " || " + b + " != " + b + " ? " + b + " : " + a;
    case Op::maximum: return b + " > " + a + " || " + b + " != " + b + " ? " + b + " : " + a;
    default: break;
  }
  const std::string sign = op == Op::multiply ? " * " : " + ";
  if (!is_int(t)) return a + sign + b;
  return std::string("(") + spelled(t) + ")((u64)" + a + sign + "(u64)" + b + ")";  // it wraps
}

}  // namespace

std::string emit_fold(DType t, Op op) {
  Prelude prelude;
  const bool half = is_half(t);
  const std::string name = t == DType::float16 ? "f16" : "bf16", type = spelled(t);
  const std::string wide = half ? "float" : type;
  if (half) prelude.need("f32_of_" + name), prelude.need(name + "_of_f32");
  const auto read = [&](const std::string& at) {
    return half ? "f32_of_" + name + "(args.values[" + at + "])" : "args.values[" + at + "]";
  };
  Text text;
  text.line("");
  text.open("struct Args");
  text.line("const " + type + "* values;");
  text.line(type + "* to;");
  text.line("i64 count, n;");
  text.close("};");
  text.line("");
  text.open("extern \"C\" __global__ void __launch_bounds__(" + number(kFoldThreads) + ") " + kFoldFunction +
            "(const __grid_constant__ Args args)");
  text.line("const i64 i = (i64)blockIdx.x * " + number(kFoldThreads) + " + threadIdx.x;");
  text.line("if (i >= args.n) return;");
  text.line(wide + " sum = " + read("i") + ";");
  text.open("for (i64 k = 1; k < args.count; ++k)");
  text.line("const " + wide + " next = " + read("k * args.n + i") + ";");
  text.line("sum = " + folded(t, op, "sum", "next") + ";");
  text.close();
  text.line("args.to[i] = " + (half ? name + "_of_f32(sum)" : std::string("sum")) + ";");
  text.close();
  return module_head(t == DType::float16, t == DType::bfloat16) + prelude.text() + text.take();
}

}  // namespace lazy::cuda_backend
