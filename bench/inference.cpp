// Times inference without what recurs: replays against recording, and products with weights that stay against
// the same with weights that may change. Both sides are warm and take turns; the best of the rounds is
// printed.
//
//   LAZY_NUM_THREADS=1 bench_inference [--rounds N]
//
// Replays: chains of kernels on 16 numbers, so that nearly all of the time is what the library adds; with the
// number of calls of operator new in 100 replays. Sessions: likewise, with one weight. Weights: x w^T of some
// rows of x. Models: one image of 224x224, with fresh weights; kernels are those that a replay runs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lazy/inference/freeze.hpp>
#include <lazy/inference/replay.hpp>
#include <lazy/inference/session.hpp>
#include <lazy/lazy.hpp>
#include <lazy/models/models.hpp>
#include <new>

#include "lazy/core/unchanging.hpp"

namespace {
std::atomic<long> allocations{0};
}

// Inlined, they would look to the compiler like memory of malloc() that a delete of another kind gives back.
[[gnu::noinline]] void* operator new(size_t n) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const p = std::malloc(n ? n : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace {
using namespace lazy;

/// Returns the nanoseconds of a call, on average over `calls`.
template <class F>
double time_of(F&& f, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) f();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / calls;
}

/// Computes kernels one after the other, on numbers few enough that they take hardly any time.
struct Chain : nn::Module {
  Parameter scale{full({4, 4}, 1.01f)};
  int ops;
  explicit Chain(int n) : ops(n) {}
  LAZY_MODULE(scale)
  Tensor operator()(const Tensor& v) const {
    Tensor y = v;
    for (int i = 0; i < ops; ++i) y = i % 2 ? cumsum(y, 0) * 0.1f : cumsum(y, 1) * 0.2f;
    return y * scale;
  }
};

void sessions(int rounds) {
  const Tensor x = (arange(0, 16, 1, float32).reshape({4, 4}) * 0.01f).eval();
  std::printf("\n%8s %12s %12s %12s %12s\n", "kernels", "record us", "session us", "ns a kernel",
              "allocations");
  for (const int ops : {10, 20, 150}) {
    Chain model(ops);
    const auto s = inference::session(model, {.example = x});
    s(x);
    const uint64_t before = metrics().launches;
    s(x);
    const uint64_t kernels = metrics().launches - before;
    const long calls = allocations;
    for (int i = 0; i < 100; ++i) s(x);
    const long made = allocations - calls;
    double recording = 1e30, serving = 1e30;
    const no_grad scope;
    for (int r = 0; r < rounds; ++r) {
      recording = std::min(recording, time_of([&] { model(x).eval(); }, 100));
      serving = std::min(serving, time_of([&] { s(x); }, 100));
    }
    std::printf("%8llu %12.2f %12.2f %12.1f %12ld\n", static_cast<unsigned long long>(kernels),
                recording / 1e3, serving / 1e3, serving / static_cast<double>(kernels), made);
  }
}

void replays(int rounds) {
  const Tensor x = (arange(0, 16, 1, float32).reshape({4, 4}) * 0.01f).eval();
  std::printf("%8s %12s %12s %12s %12s\n", "kernels", "record us", "replay us", "ns a kernel", "allocations");
  for (const int ops : {1, 20, 300}) {
    const auto f = [ops](const Tensor& v) {
      Tensor y = v;
      for (int i = 0; i < ops; ++i) y = i % 2 ? cumsum(y, 0) * 0.1f : cumsum(y, 1) * 0.2f;
      return y;
    };
    const auto step = replay(f);
    step(x);
    step(x);
    const uint64_t before = metrics().launches;
    step(x);
    const uint64_t kernels = metrics().launches - before;
    const long calls = allocations;
    for (int i = 0; i < 100; ++i) step(x);
    const long made = allocations - calls;
    double recording = 1e30, replaying = 1e30;
    for (int r = 0; r < rounds; ++r) {
      recording = std::min(recording, time_of([&] { f(x).eval(); }, 100));
      replaying = std::min(replaying, time_of([&] { step(x); }, 100));
    }
    std::printf("%8llu %12.2f %12.2f %12.1f %12ld\n", static_cast<unsigned long long>(kernels),
                recording / 1e3, replaying / 1e3, replaying / static_cast<double>(kernels), made);
  }
}

void weights(int rounds) {
  std::printf("\n%10s %6s %6s %12s %12s %8s\n", "dtype", "n", "rows", "changing us", "staying us", "ratio");
  for (const DType t : {float32, bfloat16})
    for (const int64_t n : {256, 1024, 2048})
      for (const int64_t rows : {1, 8, 128}) {
        const auto made = [&] { return sin(arange(0, n * n, 1, float32)).reshape({n, n}).astype(t).eval(); };
        const Tensor changing = made(), staying = made();
        detail::mark_unchanging(staying);
        const Tensor x = cos(arange(0, rows * n, 1, float32)).reshape({rows, n}).astype(t).eval();
        const int calls = static_cast<int>(std::clamp<int64_t>(50'000'000 / (n * n * rows), 2, 100));
        double a = 1e30, b = 1e30;
        for (int r = 0; r <= rounds; ++r) {
          a = std::min(a, time_of([&] { linear(x, changing).eval(); }, calls));
          b = std::min(b, time_of([&] { linear(x, staying).eval(); }, calls));
        }
        std::printf("%10s %6lld %6lld %12.1f %12.1f %8.2f\n", name_of(t), static_cast<long long>(n),
                    static_cast<long long>(rows), a / 1e3, b / 1e3, b / a);
      }
}

/// Prints the milliseconds of one image in a model that is called and replayed, before and after freeze().
template <class M>
void frozen(const char* name, M model, int rounds) {
  const no_grad scope;
  NamedTensors state;  // in memory, as those of a trained model: fresh statistics are constants
  for (const auto& [key, t] : model.state_dict())
    state.set(key, is_float(t.dtype()) ? (t * 1.01f + 0.01f).eval() : t);
  model.load_state_dict(state);
  model.eval();
  const Tensor x = sin(arange(0, 3 * 224 * 224, 1, float32)).reshape({1, 3, 224, 224}).eval();
  double ms[4] = {1e30, 1e30, 1e30, 1e30};
  uint64_t kernels[2] = {}, folded = 0;
  for (const int after : {0, 1}) {
    if (after) inference::freeze(model);
    const uint64_t before = metrics().calls_folded;
    model(x).eval();
    folded = metrics().calls_folded - before;
    const auto step = replay(model);
    step(x), step(x);
    const uint64_t launches = metrics().launches;
    step(x);
    kernels[after] = metrics().launches - launches;
    for (int r = 0; r < rounds; ++r) {
      ms[after] = std::min(ms[after], time_of([&] { model(x).eval(); }, 1) / 1e6);
      ms[2 + after] = std::min(ms[2 + after], time_of([&] { step(x); }, 1) / 1e6);
    }
  }
  std::printf("%20s %8llu %8llu %8llu %10.2f %10.2f %10.2f %10.2f\n", name,
              static_cast<unsigned long long>(folded), static_cast<unsigned long long>(kernels[0]),
              static_cast<unsigned long long>(kernels[1]), ms[0], ms[1], ms[2], ms[3]);
}

void models_of_images(int rounds) {
  std::printf("\n%20s %8s %8s %8s %10s %10s %10s %10s\n", "model", "folds", "kernels", "frozen", "eval ms",
              "frozen ms", "replay ms", "frozen ms");
  frozen("ResNet-18", models::ResNet(), rounds);
  frozen("ResNet-50", models::ResNet({.layers = {3, 4, 6, 3}, .bottleneck = true}), rounds);
  frozen("MobileNetV3 small", models::mobilenet_v3_small(), rounds);
}

}  // namespace

int main(int count, char** arguments) {
  int rounds = 20;
  for (int i = 1; i + 1 < count; ++i)
    if (!std::strcmp(arguments[i], "--rounds")) rounds = std::max(1, std::atoi(arguments[i + 1]));
  replays(rounds);
  sessions(rounds);
  weights(rounds);
  models_of_images(rounds);
  return 0;
}
