#include "backends/cuda/emitter/pairs_module.hpp"

#include "backends/cuda/emitter/text.hpp"
#include "backends/cuda/emitter/types.hpp"
#include "backends/cuda/emitter/writer.hpp"

namespace lazy::cuda_backend {

std::vector<std::string> pairs_functions() { return {"pack_pairs", "unpack_pairs"}; }

std::string emit_pairs(DType t) {
  const std::string type = spelled(t);
  Text text;
  text.line("");
  text.open("struct __align__(" + number(2 * static_cast<int64_t>(size_of(t))) + ") Pair");
  text.line(type + " re, im;");
  text.close("};");
  text.open("struct Args");
  text.line(type + " *re, *im;");
  text.line("Pair* pairs;");
  text.line("u64 n, row, real;");
  text.close("};");
  text.line("");
  text.line("// True for a number of half a spectrum that is real.");
  text.open("__device__ bool is_real(const Args& args, u64 i)");
  text.line("if (args.row == 0) return false;");
  text.line("const u64 at = args.n >> 32 ? i % args.row : (u64)((u32)i % (u32)args.row);");
  text.line("return at == 0 || at == args.real;");
  text.close();
  const auto open = [&](Pairs function) {
    text.line("");
    text.open("extern \"C\" __global__ void __launch_bounds__(" + number(kPairsThreads) + ") " +
              pairs_functions()[static_cast<size_t>(function)] + "(const __grid_constant__ Args args)");
    text.line("const u64 i = (u64)blockIdx.x * " + number(kPairsThreads) + " + threadIdx.x;");
    text.line("if (i >= args.n) return;");
  };
  open(Pairs::pack);
  text.line("Pair p;");
  text.line("p.re = args.re[i];");
  text.line("p.im = is_real(args, i) ? 0 : args.im[i];");
  text.line("args.pairs[i] = p;");
  text.close();
  open(Pairs::unpack);
  text.line("const Pair p = args.pairs[i];");
  text.line("if (args.re) args.re[i] = p.re;");
  text.line("if (args.im) args.im[i] = is_real(args, i) ? 0 : p.im;");
  text.close();
  return module_head(false, false) + text.take();
}

}  // namespace lazy::cuda_backend
