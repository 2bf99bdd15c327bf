// The rows of bench_lazy; names are workload/size. The time is all that a user waits for: recording, the
// flush and the run, until the result is in memory. Without arguments, or with --benchmark_... ones, Google
// Benchmark runs them; with --serve they are asked for one by one (serve.hpp), as bench/run does.
#include <string>

#include "row_sizes.hpp"
#include "rows.hpp"
#include "training_steps.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

void add_small() {
  add("overhead_op", "16",
      [] { return [a = random_tensor({16}), b = random_tensor({16})] { (a + b).eval(); }; });
  add("overhead_chain10", "16", [] {
    return [a = random_tensor({16}), b = random_tensor({16}), c = random_tensor({16})] {
      return chain10(a, b, c).eval();
    };
  });
}

void add_pointwise() {
  for (const int64_t n : {1000, 100000, 1000000, 10000000}) {
    const auto four = [n](auto f) {
      return [n, f]() -> Timed {
        return [a = random_tensor({n}), b = random_tensor({n}), c = random_tensor({n}),
                d = random_tensor({n}), f] { return f(a, b, c, d).eval(); };
      };
    };
    add("fused_chain", std::to_string(n), four(fused_chain));
    add("arith_chain", std::to_string(n), four(arith_chain));
  }
  add("black_scholes", "1000000", [] {
    const int64_t n = 1000000;
    return [spot = random_tensor({n}, 80, 120), strike = random_tensor({n}, 80, 120),
            years = random_tensor({n}, 0.1f, 2.1f), volatility = random_tensor({n}, 0.1f, 0.5f)] {
      auto both = black_scholes(spot, strike, years, volatility);
      eval(both.first, both.second);
      return both;
    };
  });
  add("mandelbrot100", "1000000", [] {
    const int64_t n = 1000000;
    return [cr = random_tensor({n}, -2, 1), ci = random_tensor({n}, -1.2f, 1.2f)] {
      return mandelbrot(cr, ci, 100).eval();
    };
  });
}

void add_reductions() {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{4096, 1024}, {64, 50257}}) {
    add("softmax", std::to_string(rows) + "x" + std::to_string(columns), [rows = rows, columns = columns] {
      return [x = random_tensor({rows, columns})] { return softmax(x).eval(); };
    });
  }
  add("layernorm", "4096x768", [] {
    return [x = random_tensor({4096, 768}), w = random_tensor({768}), b = random_tensor({768})] {
      return layernorm(x, w, b).eval();
    };
  });
  add("rmsnorm", "4096x768", [] {
    return [x = random_tensor({4096, 768}), w = random_tensor({768})] { return rmsnorm(x, w).eval(); };
  });
  add("col_standardize", "100000x64", [] {
    return [x = random_tensor({100000, 64})] { return col_standardize(x).eval(); };
  });
  add("logsumexp", "4096x1024", [] {
    return [x = random_tensor({4096, 1024})] { return logsumexp_rows(x).eval(); };
  });
  add("argmax", "4096x1024", [] {
    return [x = random_tensor({4096, 1024})] { return argmax(x, {1}).eval(); };
  });
}

/// Adds what reduces along rows, for short and long ones.
void add_rows() {
  for (const int64_t columns : kRowColumns) {
    const Shape shape{rows_of(columns), columns};
    const auto one = [&](const char* name, auto f) {
      add(name, row_size(columns),
          [shape, f] { return [x = random_tensor(shape), f] { return f(x).eval(); }; });
    };
    one("softmax", [](const Tensor& x) { return softmax(x); });
    add("layernorm", row_size(columns), [shape, columns] {
      return [x = random_tensor(shape), w = random_tensor({columns}), b = random_tensor({columns})] {
        return layernorm(x, w, b).eval();
      };
    });
    add("rmsnorm", row_size(columns), [shape, columns] {
      return [x = random_tensor(shape), w = random_tensor({columns})] { return rmsnorm(x, w).eval(); };
    });
    one("logsumexp", [](const Tensor& x) { return logsumexp_rows(x); });
    one("argmax", [](const Tensor& x) { return argmax(x, {1}); });
    one("sum", [](const Tensor& x) { return sum(x, {1}); });
  }
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
  add("unique", "1000000", [] { return [x = random_tensor({1000000})] { return unique(x).eval(); }; });
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
          return scaled_dot_product_attention(q, k, v, {}, causal).eval();
        };
      });
    }
}

void add_matmul() {
  for (const int64_t n : {16, 32, 64, 128, 256, 512, 1024, 2048}) {
    add("matmul", std::to_string(n), [n] {
      return [a = random_tensor({n, n}), b = random_tensor({n, n})] { return matmul(a, b).eval(); };
    });
  }
  for (const int64_t n : {256, 1024, 4096})
    add("matvec", std::to_string(n), [n] {
      return [a = random_tensor({n, n}), x = random_tensor({n})] { return matmul(a, x).eval(); };
    });
  for (const int64_t n : {512}) {
    const auto typed = [n](DType in, DType sum) {
      return [n, in, sum]() -> Timed {
        const float most = in == int8 ? 100 : 1;
        return [a = random_tensor(in, {n, n}, -most, most), b = random_tensor(in, {n, n}, -most, most), sum] {
          return matmul(a, b, sum).eval();
        };
      };
    };
    add("matmul_f64", std::to_string(n), typed(float64, float64));
    add("matmul_bf16", std::to_string(n), typed(bfloat16, bfloat16));
    add("matmul_f16", std::to_string(n), typed(float16, float16));
    add("matmul_int8", std::to_string(n), typed(int8, int32));
  }
  add("batched_matmul", "64x32x32", [] {
    return [a = random_tensor({64, 32, 32}), b = random_tensor({64, 32, 32})] { return matmul(a, b).eval(); };
  });
  for (const int64_t m : {128, 1}) {
    const std::string size = std::to_string(m) + "x768x3072";
    add("linear_fp32", size, [m] {
      return [x = random_tensor({m, 768}), w = random_tensor({3072, 768}), b = random_tensor({3072})] {
        return linear(x, w, b).eval();
      };
    });
    add("linear_gelu", size, [m] {
      return [x = random_tensor({m, 768}), w = random_tensor({3072, 768}), b = random_tensor({3072})] {
        return gelu(linear(x, w, b)).eval();
      };
    });
    add("linear_bf16", size, [m] {
      const auto half = [](ShapeArg shape) { return random_tensor(bfloat16, shape); };
      return [x = half({m, 768}), w = half({3072, 768}), b = half({3072})] { return linear(x, w, b).eval(); };
    });
    // Quantises dynamically: the activations are scaled to int8 by their largest magnitude, the weights are
    // int8.
    add("linear_int8", size, [m] {
      return [x = random_tensor({m, 768}), w = random_tensor(int8, {3072, 768}, -127, 127),
              b = random_tensor({3072})] {
        const Tensor scale = max(abs(x)) / 127;
        const Tensor q = round(x / scale).astype(int8);
        return (matmul(q, permute_dims(w, {1, 0}), int32).astype(float32) * (scale * (1 / 127.0)) + b).eval();
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
            x = random_tensor({4, 128, 512})] { return e(x).eval(); };
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
    add("conv2d" + form, size, [=] {
      return [in = inputs(), options] { return (conv2d(in.x, in.w, options) + in.channel[0]).eval(); };
    });
    add("conv_bn_relu" + form, size, [=] {
      return [in = inputs(), options] {
        return conv_bn_relu(in.x, in.w, in.channel[0], in.channel[1], in.channel[2], in.channel[3],
                            in.channel[4], options)
            .eval();
      };
    });
  }
}

/// Describes a convolution of an image with its channels first, as a layer of a known network.
struct Layer {
  const char *name, *size;
  int64_t channels, extent, results, window, stride, padding, groups;
};

/// Adds layers of ResNet-50, of MobileNet, of a U-Net, and one of large windows.
void add_layers() {
  static constexpr Layer layers[] = {{"conv1x1", "1x64x56x56", 64, 56, 256, 1, 1, 0, 1},
                                     {"conv3x3_s2", "1x128x56x56", 128, 56, 128, 3, 2, 1, 1},
                                     {"conv7x7_s2", "1x3x224x224", 3, 224, 64, 7, 2, 3, 1},
                                     {"depthwise3x3", "1x96x112x112", 96, 112, 96, 3, 1, 1, 96},
                                     {"depthwise3x3_s2", "1x96x112x112", 96, 112, 96, 3, 2, 1, 96},
                                     {"depthwise7x7", "1x96x56x56", 96, 56, 96, 7, 1, 3, 96},
                                     {"depthwise31x31", "1x64x32x32", 64, 32, 64, 31, 1, 15, 64}};
  for (const Layer& l : layers)
    add(l.name, l.size, [l] {
      const Tensor x = random_tensor({1, l.channels, l.extent, l.extent}),
                   w = random_tensor({l.results, l.channels / l.groups, l.window, l.window});
      const ConvOptions options{
          .stride = l.stride, .padding = l.padding, .groups = l.groups, .bias = random_tensor({l.results})};
      return [=] { return conv2d(x, w, options).eval(); };
    });
  add("group_norm32", "8x64x56x56", [] {
    return [x = random_tensor({8, 64, 56, 56}), w = random_tensor({64}), b = random_tensor({64})] {
      return group_norm(x, 32, w, b).eval();
    };
  });
  add("conv_transpose2x2_s2", "1x128x28x28", [] {
    const Tensor x = random_tensor({1, 128, 28, 28}), w = random_tensor({128, 64, 2, 2});
    const ConvOptions options{.stride = 2, .bias = random_tensor({64})};
    return [=] { return conv_transpose(x, w, options).eval(); };
  });
}

/// Adds steps of training: forward, backward and update in one flush. A large model's takes too long for
/// rounds: bench_training has those.
void add_training() {
  for (const Training& t : trainings())
    for (const std::string name : {"mlp_sgd", "mlp_adam", "lstm_adam"})
      if (t.name == name)
        add("train_" + name, t.size, [begin = t.begin] {
          manual_seed(1);
          return Timed([step = begin()] { step().eval(); });
        });
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  using namespace bench;
  add_small();
  add_pointwise();
  add_reductions();
  add_rows();
  add_order();
  add_attention();
  add_encoder();
  add_convolutions();
  add_layers();
  add_matmul();
  add_typed();
  add_training();
  add_compiling();
  add_drawn();
  return run_rows(argc, argv);
}
