// Times workloads under Google Benchmark; names are workload/size. The time is all that a user waits for:
// recording, the flush and the run, until the result is in memory. bench/run turns the output into a table.
#include <benchmark/benchmark.h>

#include <chrono>
#include <functional>
#include <iterator>
#include <random>
#include <string>

#include "inputs.hpp"
#include "jit/backend/registry.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

using Call = std::function<void()>;

Tensor random_tensor(ShapeArg shape, float low = -1, float high = 1) {
  static uint64_t seed = 0;
  return from_span<float>(uniform(numel(shape), low, high, ++seed), shape);
}

/// Registers a workload. `make` builds the inputs and returns what is timed; it is called once for all
/// repetitions.
void add(const std::string& workload, const std::string& size, std::function<Call()> make) {
  const std::string name = workload + "/" + size;
  benchmark::RegisterBenchmark(name.c_str(), [name, make](benchmark::State& state) {
    static std::string made;  // inputs of one workload at a time: some are large
    static Call call;
    if (made != name) {
      call = nullptr;
      call = make();
      made = name;
      call();
      call();
    }
    for (auto _ : state) call();
    reset_metrics();
    const uint64_t before = metrics().bytes_live;
    call();
    // Counts the memory that the call needs besides its inputs. LAZY_EAGER=1 shows what it would need op by
    // op.
    state.counters["peak_bytes"] = static_cast<double>(metrics().bytes_peak - before);
  })->UseRealTime();
}

void add_small() {
  add("overhead_op", "16",
      [] { return [a = random_tensor({16}), b = random_tensor({16})] { (a + b).eval(); }; });
  add("overhead_chain10", "16", [] {
    return [a = random_tensor({16}), b = random_tensor({16}), c = random_tensor({16})] {
      chain10(a, b, c).eval();
    };
  });
}

void add_pointwise() {
  for (const int64_t n : {1000, 100000, 1000000, 10000000}) {
    const auto four = [n](auto f) {
      return [n, f]() -> Call {
        return [a = random_tensor({n}), b = random_tensor({n}), c = random_tensor({n}),
                d = random_tensor({n}), f] { f(a, b, c, d).eval(); };
      };
    };
    add("fused_chain", std::to_string(n), four(fused_chain));
    add("arith_chain", std::to_string(n), four(arith_chain));
  }
  add("black_scholes", "1000000", [] {
    const int64_t n = 1000000;
    return [spot = random_tensor({n}, 80, 120), strike = random_tensor({n}, 80, 120),
            years = random_tensor({n}, 0.1f, 2.1f), volatility = random_tensor({n}, 0.1f, 0.5f)] {
      const auto [call, put] = black_scholes(spot, strike, years, volatility);
      eval(call, put);
    };
  });
  add("mandelbrot100", "1000000", [] {
    const int64_t n = 1000000;
    return [cr = random_tensor({n}, -2, 1), ci = random_tensor({n}, -1.2f, 1.2f)] {
      mandelbrot(cr, ci, 100).eval();
    };
  });
}

void add_reductions() {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{4096, 1024}, {64, 50257}}) {
    add("softmax", std::to_string(rows) + "x" + std::to_string(columns), [rows = rows, columns = columns] {
      return [x = random_tensor({rows, columns})] { softmax(x).eval(); };
    });
  }
  add("layernorm", "4096x768", [] {
    return [x = random_tensor({4096, 768}), w = random_tensor({768}), b = random_tensor({768})] {
      layernorm(x, w, b).eval();
    };
  });
  add("rmsnorm", "4096x768", [] {
    return [x = random_tensor({4096, 768}), w = random_tensor({768})] { rmsnorm(x, w).eval(); };
  });
  add("col_standardize", "100000x64", [] {
    return [x = random_tensor({100000, 64})] { col_standardize(x).eval(); };
  });
  add("logsumexp", "4096x1024", [] {
    return [x = random_tensor({4096, 1024})] { logsumexp_rows(x).eval(); };
  });
  add("argmax", "4096x1024", [] { return [x = random_tensor({4096, 1024})] { argmax(x, {1}).eval(); }; });
}

/// Adds what orders elements, or runs along them: of a vector and of rows.
void add_order() {
  using Function = std::vector<Tensor> (*)(const Tensor&);
  const std::pair<const char*, Function> functions[] = {
      {"sort", [](const Tensor& x) { return std::vector{sort(x).values}; }},
      {"argsort", [](const Tensor& x) { return std::vector{argsort(x)}; }},
      {"topk10",
       [](const Tensor& x) {
         const Sorted s = topk(x, 10);
         return std::vector{s.values, s.indices};
       }},
      {"topk100",
       [](const Tensor& x) {
         const Sorted s = topk(x, 100);
         return std::vector{s.values, s.indices};
       }},
      {"kthvalue",
       [](const Tensor& x) {
         const Sorted s = kthvalue(x, x.size(-1) / 2);
         return std::vector{s.values, s.indices};
       }},
      {"median", [](const Tensor& x) { return std::vector{median(x, -1)}; }},
      {"quantile", [](const Tensor& x) { return std::vector{quantile(x, 0.3, -1)}; }},
      {"cumsum", [](const Tensor& x) { return std::vector{cumsum(x, -1)}; }},
      {"cumprod", [](const Tensor& x) { return std::vector{cumprod(x, -1)}; }},
      {"cummax",
       [](const Tensor& x) {
         const Sorted s = cummax(x, -1);
         return std::vector{s.values, s.indices};
       }},
      {"logcumsumexp", [](const Tensor& x) { return std::vector{logcumsumexp(x, -1)}; }},
  };
  for (const auto& [name, f] : functions)
    for (const bool rows : {false, true})
      add(name, rows ? "1000x1000" : "1000000", [f = f, rows] {
        return [x = random_tensor(rows ? Shape{1000, 1000} : Shape{1000000}), f] {
          for (const Tensor& y : f(x)) y.eval();
        };
      });
  add("unique", "1000000", [] { return [x = random_tensor({1000000})] { unique(x).eval(); }; });
  add("searchsorted", "1000000", [] {
    return [s = sort(random_tensor({10000})).values.eval(), x = random_tensor({1000000})] {
      searchsorted(s, x).eval();
    };
  });
  add("histogram100", "1000000",
      [] { return [x = random_tensor({1000000})] { histogram(x, 100).counts.eval(); }; });
}

void add_attention() {
  for (const auto& [heads, length] : {std::pair<int64_t, int64_t>{32, 128}, {8, 1024}})
    for (const bool causal : {false, true}) {
      const std::string size = std::to_string(heads) + "x" + std::to_string(length) + "x64";
      add(causal ? "attention_causal" : "attention", size, [heads = heads, length = length, causal] {
        const Shape shape{1, heads, length, 64};
        return [q = random_tensor(shape), k = random_tensor(shape), v = random_tensor(shape), causal] {
          scaled_dot_product_attention(q, k, v, {}, causal).eval();
        };
      });
    }
}

void add_matmul() {
  for (const int64_t n : {16, 32, 64, 128, 256, 512, 1024, 2048}) {
    add("matmul", std::to_string(n), [n] {
      return [a = random_tensor({n, n}), b = random_tensor({n, n})] { matmul(a, b).eval(); };
    });
  }
  for (const int64_t n : {256, 1024, 4096})
    add("matvec", std::to_string(n), [n] {
      return [a = random_tensor({n, n}), x = random_tensor({n})] { matmul(a, x).eval(); };
    });
  for (const int64_t n : {512}) {
    const auto typed = [n](DType in, DType sum) {
      return [n, in, sum]() -> Call {
        const Tensor a = astype(random_tensor({n, n}, -100, 100), in),
                     b = astype(random_tensor({n, n}, -100, 100), in);
        eval(a, b);
        return [a, b, sum] { matmul(a, b, sum).eval(); };
      };
    };
    add("matmul_f64", std::to_string(n), typed(float64, float64));
    add("matmul_bf16", std::to_string(n), typed(bfloat16, bfloat16));
    add("matmul_f16", std::to_string(n), typed(float16, float16));
    add("matmul_int8", std::to_string(n), typed(int8, int32));
  }
  add("batched_matmul", "64x32x32", [] {
    return [a = random_tensor({64, 32, 32}), b = random_tensor({64, 32, 32})] { matmul(a, b).eval(); };
  });
  for (const int64_t m : {128, 1}) {
    const std::string size = std::to_string(m) + "x768x3072";
    add("linear_fp32", size, [m] {
      return [x = random_tensor({m, 768}), w = random_tensor({3072, 768}), b = random_tensor({3072})] {
        linear(x, w, b).eval();
      };
    });
    add("linear_gelu", size, [m] {
      return [x = random_tensor({m, 768}), w = random_tensor({3072, 768}), b = random_tensor({3072})] {
        gelu(linear(x, w, b)).eval();
      };
    });
    add("linear_bf16", size, [m] {
      const auto half = [](const Tensor& t) { return t.astype(bfloat16).eval(); };
      return [x = half(random_tensor({m, 768})), w = half(random_tensor({3072, 768})),
              b = half(random_tensor({3072}))] { linear(x, w, b).eval(); };
    });
    // Quantises dynamically: the activations are scaled to int8 by their largest magnitude, the weights are
    // int8.
    add("linear_int8", size, [m] {
      return [x = random_tensor({m, 768}), w = (random_tensor({3072, 768}) * 127).astype(int8).eval(),
              b = random_tensor({3072})] {
        const Tensor scale = max(abs(x)) / 127;
        const Tensor q = round(x / scale).astype(int8);
        (matmul(q, permute_dims(w, {1, 0}), int32).astype(float32) * (scale * (1 / 127.0)) + b).eval();
      };
    });
  }
}

void add_encoder() {
  add("encoder_block", "4x128x512", [] {
    const auto w = [](ShapeArg shape) { return random_tensor(shape, -0.04f, 0.04f); };
    return [e = Encoder{w({1536, 512}), w({1536}), w({512, 512}), w({512}), ones({512}).eval(),
                        zeros({512}).eval(), w({2048, 512}), w({2048}), w({512, 2048}), w({512}),
                        ones({512}).eval(), zeros({512}).eval()},
            x = random_tensor({4, 128, 512})] { e(x).eval(); };
  });
}

void add_convolutions() {
  for (const bool last : {false, true}) {
    const ConvOptions options{.padding = 1, .layout = last ? channels_last : channels_first};
    const std::string form = last ? "_nhwc" : "_nchw", size = "1x64x56x56";
    struct Inputs {
      Tensor x, w, channel[5];
    };
    const auto inputs = [last] {
      Inputs in{last ? random_tensor({1, 56, 56, 64}) : random_tensor({1, 64, 56, 56}),
                last ? random_tensor({3, 3, 64, 64}) : random_tensor({64, 64, 3, 3}),
                {}};
      for (Tensor& c : in.channel)
        c = last ? random_tensor({64}, 0.5f, 1) : random_tensor({64, 1, 1}, 0.5f, 1);
      return in;
    };
    add("conv2d" + form, size,
        [=] { return [in = inputs(), options] { (conv2d(in.x, in.w, options) + in.channel[0]).eval(); }; });
    add("conv_bn_relu" + form, size, [=] {
      return [in = inputs(), options] {
        conv_bn_relu(in.x, in.w, in.channel[0], in.channel[1], in.channel[2], in.channel[3], in.channel[4],
                     options)
            .eval();
      };
    });
  }
}

/// Times 1,000 calls, each with another size; inputs are made outside of it. bench/run starts it in a
/// separate process, so that in the first pass nothing has been compiled.
void changing_shapes(benchmark::State& state) {
  ones({1}).eval();  // starting the library does not count
  for (auto _ : state) {
    double seconds = 0;
    for (const int64_t n : changing_sizes()) {
      const Tensor a = random_tensor({n}), b = random_tensor({n}), c = random_tensor({n}),
                   d = random_tensor({n});
      const auto start = std::chrono::steady_clock::now();
      fused_chain(a, b, c, d).eval();
      seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    state.SetIterationTime(seconds);
  }
}

/// Compiles a program that was never seen before: a random straight line of 300 ops with four inputs. The
/// time is that of metrics() for compiling, so the median over the repetitions is the p50.
void compile_program(benchmark::State& state) {
  static std::mt19937 random(5);
  static const Tensor inputs[] = {random_tensor({16}), random_tensor({16}), random_tensor({16}),
                                  random_tensor({16})};
  for (auto _ : state) {
    Tensor t = inputs[0], u = inputs[1];
    for (int i = 0; i < 300; ++i) {
      const Tensor& x = inputs[random() % 4];
      Tensor next;
      switch (random() % 6) {
        case 0: next = t + x; break;
        case 1: next = t * x; break;
        case 2: next = t - u; break;
        case 3: next = maximum(t, x); break;
        case 4: next = t * 0.5; break;
        default:
          next = abs(t) + u;
          ++i;
          break;
      }
      u = t;
      t = next;
    }
    const auto before = metrics();
    t.eval();
    const auto after = metrics();
    state.SetIterationTime(static_cast<double>(after.compile_ns - before.compile_ns) * 1e-9);
    if (after.program_misses == before.program_misses) state.SkipWithError("nothing was compiled");
  }
}

/// Compiles loop IR to a callable kernel: 8 operands, 280 float32 instructions, among them an exp and a log.
void compile_kernel(benchmark::State& state) {
  using namespace jit::loop;
  LoopKernel k;
  k.rank = 1;
  const auto operand = [&](bool output) {
    Operand o;
    o.dtype = float32;
    o.output = output;
    o.stride[0] = Stride::unit;
    k.operands.push_back(o);
  };
  const auto emit = [&](Instr i) {
    i.type = float32;
    k.body.push_back(i);
    return static_cast<ValueId>(k.body.size() - 1);
  };
  for (uint16_t i = 0; i < 7; ++i) {
    operand(false);
    emit({.code = Code::load, .imm = i});
  }
  operand(true);
  using jit::Op;
  constexpr Op ops[] = {Op::add, Op::multiply, Op::subtract, Op::maximum, Op::minimum};
  std::mt19937 random(9);
  while (k.body.size() < 278) {
    const auto n = static_cast<uint32_t>(k.body.size());
    const auto recent = [&] { return static_cast<ValueId>(n - 1 - random() % std::min(n, 12u)); };
    emit({.code = Code::op,
          .op = ops[random() % std::size(ops)],
          .a = static_cast<ValueId>(n - 1),
          .b = recent()});
  }
  emit({.code = Code::op, .op = Op::exp, .a = static_cast<ValueId>(k.body.size() - 1)});
  k.stores.push_back(
      {7, emit({.code = Code::op, .op = Op::log, .a = static_cast<ValueId>(k.body.size() - 1)})});
  k.epilogue = static_cast<uint16_t>(k.body.size());
  check(k);
  jit::Backend& backend = *jit::backends().main;
  for (auto _ : state) benchmark::DoNotOptimize(backend.compile(k));
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  using namespace bench;
  add_small();
  add_pointwise();
  add_reductions();
  add_order();
  add_attention();
  add_encoder();
  add_convolutions();
  add_matmul();
  benchmark::RegisterBenchmark("compile_program/300", compile_program)
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(101);
  benchmark::RegisterBenchmark("compile_kernel/280", compile_kernel)->UseRealTime()->Repetitions(9);
  benchmark::RegisterBenchmark("changing_shapes_cold/1000", changing_shapes)
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(1);
  benchmark::RegisterBenchmark("changing_shapes_warm/1000", changing_shapes)
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(1);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
