// Measures a GPU for bench/gpu-check. Prints peer,quantity,value,unit, a line each.
//    bench_gpu [--bytes N] [--seconds S]   all but `cold`; N: bytes that a workload moves, 1 GiB if not given
//    bench_gpu --cold                      the first flush of a program of 20 kernels, in ms: with an empty
//                                          cache on disk what NVRTC takes, with a full one what loading takes
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bench/workloads.hpp"
#include "jit/backend/registry.hpp"

namespace {
using namespace lazy;
using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

void put(const char* quantity, double value, const char* unit) {
  std::printf("lazy,%s,%.6g,%s\n", quantity, value, unit);
  std::fflush(stdout);
}

/// Returns the median time of a call when calls follow each other, waited for in batches; the first ones
/// don't count.
double steady(const std::function<void()>& call, double seconds) {
  for (int i = 0; i < 4; ++i) call();
  synchronize(cuda);
  int batch = 1;
  std::vector<double> samples;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    for (int i = 0; i < batch; ++i) call();
    synchronize(cuda);
    const double us = microseconds(Clock::now() - start) / batch;
    samples.push_back(us);
    batch = std::clamp(static_cast<int>(2000 / std::max(us, 1.0)), 1, 200);
  } while (microseconds(Clock::now() - begin) < seconds * 1e6);
  if (samples.size() > 2) samples.erase(samples.begin());
  std::nth_element(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2),
                   samples.end());
  return samples[samples.size() / 2];
}

/// Returns uniform numbers that no cache holds: a recipe, evaluated on the GPU.
Tensor numbers(Shape shape, double low, double high, DType t = float32) {
  const int64_t n = numel(shape);
  const Tensor x = arange(n, int32).to(cuda) * 1103515245 + 12345;
  Dims dims;
  for (int64_t d : shape) dims.push_back(d);
  Tensor y = ((x & 0xffff).astype(float32) * ((high - low) / 65536.0) + low)
                 .reshape(ShapeArg(std::vector<int64_t>(dims.begin(), dims.end())));
  y = y.astype(t);
  y.eval();
  return y;
}

double copy_bandwidth(int64_t bytes, double seconds) {
  jit::Backend& gpu = jit::backend_of(cuda, std::source_location::current());
  const auto n = static_cast<size_t>(bytes / 2);
  void *from = gpu.allocate(n), *to = gpu.allocate(n);
  const double us = steady([&] { gpu.copy(to, from, n); }, seconds);
  gpu.deallocate(from, n);
  gpu.deallocate(to, n);
  return 2 * static_cast<double>(n) / us / 1e3;  // GB/s
}

/// Runs so many small kernels, each of which needs the one before: scans don't fuse with each other.
Tensor many_kernels(Tensor x, int kernels) {
  for (int i = 0; i < kernels; ++i) x = cumsum(x * 0.5f, i % 2);
  return x;
}

void measure(int64_t bytes, double seconds) {
  const double copy = copy_bandwidth(bytes, seconds);
  put("copy", copy, "GB/s");
  const auto bandwidth = [&](const char* name, double moved, const std::function<Tensor()>& f) {
    const double us = steady([&] { f().eval(); }, seconds);
    put((std::string(name) + "_us").c_str(), us, "us");
    put((std::string(name) + "_of_copy").c_str(), moved / us / 1e3 / copy, "ratio");
  };
  const int64_t n = bytes / 20;  // four inputs and a result
  const Tensor a = numbers({n}, 0.5, 1), b = numbers({n}, 0.5, 1), c = numbers({n}, 0.5, 1),
               d = numbers({n}, 0.5, 1);
  const double five = 20 * static_cast<double>(n);
  bandwidth("pointwise", five, [&] { return bench::arith_chain(a, b, c, d); });
  bandwidth("fused_chain", five, [&] { return bench::fused_chain(a, b, c, d); });
  {
    const double us = steady(
        [&] {
          const auto both = bench::black_scholes(a * 100, b * 100, c, d);
          eval(both.first, both.second);
        },
        seconds);
    put("black_scholes_us", us, "us");
  }
  const int64_t columns = 1024, rows = std::max<int64_t>(1, bytes / 8 / columns);
  const Tensor x = numbers({rows, columns}, -2, 2), w = numbers({columns}, 0.5, 1),
               e = numbers({columns}, 0, 1);
  const double both = 8.0 * static_cast<double>(rows * columns);
  bandwidth("softmax", both, [&] { return bench::softmax(x); });
  bandwidth("layernorm", both, [&] { return bench::layernorm(x, w, e); });
  bandwidth("sum", both / 2, [&] { return x.sum(); });
  const int64_t side =
      std::max<int64_t>(16, static_cast<int64_t>(std::sqrt(static_cast<double>(bytes) / 128)));
  const Tensor re = numbers({side, side}, -2, 0.5), im = numbers({side, side}, -1.2, 1.2);
  put("mandelbrot_us", steady([&] { bench::mandelbrot(re, im, 100).eval(); }, seconds), "us");

  const int64_t m =
      std::clamp<int64_t>(static_cast<int64_t>(std::sqrt(static_cast<double>(bytes) / 16)), 32, 8192);
  const Tensor p = numbers({m, m}, -1, 1, bfloat16), q = numbers({m, m}, -1, 1, bfloat16);
  const double us = steady([&] { matmul(p, q).eval(); }, seconds);
  put("matmul_bf16_us", us, "us");
  put("matmul_bf16", 2 * std::pow(static_cast<double>(m), 3) / us / 1e6, "TFLOP/s");

  const int64_t length = std::clamp<int64_t>(m / 2, 32, 4096),
                heads = std::clamp<int64_t>(bytes >> 24, 1, 64);
  for (DType t : {bfloat16, float32}) {
    const Shape shape{heads, length, 128};
    const Tensor query = numbers(shape, -1, 1, t), key = numbers(shape, -1, 1, t),
                 value = numbers(shape, -1, 1, t);
    for (bool causal : {false, true}) {
      const std::string name =
          std::string(causal ? "causal_" : "") + "attention_" + (t == float32 ? "f32" : "bf16");
      const double took =
          steady([&] { scaled_dot_product_attention(query, key, value, {}, causal).eval(); }, seconds);
      put((name + "_us").c_str(), took, "us");
      const double flops = 4.0 * static_cast<double>(heads * length * length * 128) / (causal ? 2 : 1);
      put(name.c_str(), flops / took / 1e6, "TFLOP/s");
    }
  }

  // Times the host in eval() of 50 kernels, the device idle.
  const Tensor small = numbers({32, 32}, 0, 1);
  std::vector<double> flushes;
  for (int i = 0; i < 200; ++i) {
    const Tensor y = many_kernels(small, 50);
    const auto start = Clock::now();
    y.eval();
    flushes.push_back(microseconds(Clock::now() - start));
    synchronize(cuda);
  }
  std::nth_element(flushes.begin(), flushes.begin() + 100, flushes.end());
  put("flush_50_kernels", flushes[100], "us");
  const uint64_t before = metrics().launches;
  many_kernels(small, 50).eval();
  put("flush_50_kernels_launches", static_cast<double>(metrics().launches - before), "kernels");
}

void cold() {
  const Tensor x = lazy::ones({1000}).to(cuda) + arange(1000, float32).to(cuda);
  x.eval();
  synchronize(cuda);
  // Records twenty kernels that differ.
  Tensor y = x;
  const std::vector<std::function<Tensor(const Tensor&)>> steps{
      [](const Tensor& t) { return sin(t); },       [](const Tensor& t) { return t * 0.5f; },
      [](const Tensor& t) { return tanh(t); },      [](const Tensor& t) { return exp(-abs(t)); },
      [](const Tensor& t) { return sqrt(t + 1); },  [](const Tensor& t) { return t * t - 1; },
      [](const Tensor& t) { return cos(t) + t; },   [](const Tensor& t) { return erf(t); },
      [](const Tensor& t) { return log1p(t * t); }, [](const Tensor& t) { return atan(t); },
      [](const Tensor& t) { return sigmoid(t); },   [](const Tensor& t) { return sinh(t * 0.1f); },
      [](const Tensor& t) { return cos(t * t); },   [](const Tensor& t) { return t / (abs(t) + 1); },
      [](const Tensor& t) { return gelu(t); },      [](const Tensor& t) { return expm1(-abs(t)); },
      [](const Tensor& t) { return floor(t * 8); }, [](const Tensor& t) { return maximum(t, -t) - 2; }};
  for (const auto& f : steps) {
    const Tensor z = f(y);
    y = z + z.sum();
  }
  const auto start = Clock::now();
  y.eval();
  synchronize(cuda);
  put("first_flush", microseconds(Clock::now() - start) / 1e3, "ms");
  put("first_flush_kernels", static_cast<double>(metrics().kernels_compiled + metrics().kernels_loaded),
      "kernels");
}

}  // namespace

int main(int argc, char** argv) {
  int64_t bytes = int64_t{1} << 30;
  double seconds = 0.5;
  bool is_cold = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--cold") is_cold = true;
    else if (option == "--bytes" && i + 1 < argc) bytes = std::atoll(argv[++i]);
    else if (option == "--seconds" && i + 1 < argc) seconds = std::atof(argv[++i]);
    else return std::fprintf(stderr, "bench_gpu [--bytes N] [--seconds S] | --cold\n"), 2;
  }
  try {
    std::fprintf(stderr, "# %s\n", describe(cuda).c_str());
    set_default_device(cuda);
    if (is_cold) cold();
    else measure(bytes, seconds);
  } catch (const Error& e) {
    std::fprintf(stderr, "bench_gpu: %s\n", e.what());
    return 1;
  }
}
