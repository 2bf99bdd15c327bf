// Times recurrences: T steps evaluated in one flush, and the same evaluated step by step. Prints one line
// each: times are milliseconds for all T steps, medians once both sides are warm; `cold` is the first run of
// the one flush, with its compile. Memory is the peak of tensor bytes beyond what exists before.
//
//   bench_recurrences [--steps T] [--only NAME] [--rounds N]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <lazy/lazy.hpp>
#include <string>
#include <vector>

#include "inputs.hpp"

namespace {
using namespace lazy;
using State = std::vector<Tensor>;

/// Returns values in [low, high), the same in every run.
Tensor values(const std::vector<int64_t>& shape, uint64_t seed, float low, float high) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return from_span(bench::uniform(count, low, high, seed), shape);
}

struct Recurrence {
  const char* name;
  std::function<State()> begin;
  std::function<void(State&, int)> step;
};

constexpr int64_t n = 64;

std::vector<Recurrence> recurrences() {
  std::vector<Recurrence> all;
  const Tensor a = values({n, n}, 1, -0.01f, 0.01f);
  const auto two = [] {
    const Tensor x = values({n, n}, 2, -1, 1);
    return State{x, x * 0.1f};
  };
  all.push_back({"momentum", two, [=](State& s, int) {
                   s[1] = 0.9f * s[1] - 0.1f * matmul(a, s[0]);
                   s[0] = s[0] + s[1];
                 }});
  all.push_back({"nesterov", two, [=](State& s, int) {
                   const Tensor before = s[1];
                   s[1] = 0.9f * s[1] - 0.1f * matmul(a, s[0]);
                   s[0] = s[0] - 0.9f * before + 1.9f * s[1];
                 }});
  all.push_back({"symplectic_euler", two, [=](State& s, int) {
                   s[1] = s[1] - 0.01f * matmul(a, sin(s[0]));
                   s[0] = s[0] + 0.01f * s[1];
                 }});
  all.push_back({"leapfrog", two, [=](State& s, int) {
                   const Tensor half = s[1] - 0.005f * matmul(a, s[0]);
                   s[0] = s[0] + 0.01f * half;
                   s[1] = half - 0.005f * matmul(a, s[0]);
                 }});
  const auto grid = [] {
    const Tensor u = values({512, 512}, 3, 0, 1);
    return State{u, u * 0.99f};
  };
  all.push_back({"wave_edge_copy", grid, [](State& s, int) {
                   Tensor next = 2 * s[0] - s[1];
                   next(0, _) = next(1, _);
                   s[1] = s[0];
                   s[0] = next;
                 }});
  all.push_back({"wave_edge_constant", grid, [](State& s, int) {
                   Tensor next = 2 * s[0] - s[1];
                   next(0, _) = 0;
                   s[1] = s[0];
                   s[0] = next;
                 }});
  all.push_back({"rk4_matmul",
                 [] {
                   return State{values({n, n}, 4, -1, 1)};
                 },
                 [=](State& s, int) {
                   const auto f = [&](const Tensor& x) { return matmul(a, x) - 0.1f * x; };
                   const float h = 0.01f;
                   const Tensor k1 = f(s[0]), k2 = f(s[0] + h / 2 * k1), k3 = f(s[0] + h / 2 * k2),
                                k4 = f(s[0] + h * k3);
                   s[0] = s[0] + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
                 }});
  all.push_back(
      {"rk4_lorenz",
       [] {
         return State{values({4096}, 5, -1, 1), values({4096}, 6, -1, 1), values({4096}, 7, 0, 9)};
       },
       [](State& s, int) {
         const auto f = [](const State& p) {
           return State{10.0f * (p[1] - p[0]), p[0] * (28.0f - p[2]) - p[1], p[0] * p[1] - 2.6666667f * p[2]};
         };
         const auto along = [](const State& p, const State& k, float h) {
           return State{p[0] + h * k[0], p[1] + h * k[1], p[2] + h * k[2]};
         };
         const float h = 0.01f;
         const State k1 = f(s), k2 = f(along(s, k1, h / 2)), k3 = f(along(s, k2, h / 2)),
                     k4 = f(along(s, k3, h));
         for (size_t i = 0; i < 3; ++i) s[i] = s[i] + h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
       }});
  const Tensor psi = exp(values({n, n}, 8, -1, 1));
  all.push_back({"belief_propagation",
                 [] {
                   return State{values({n, n}, 9, 0.5f, 1), values({n, n}, 10, 0.5f, 1)};
                 },
                 [=](State& s, int) {
                   const Tensor up = matmul(s[0] * s[1], psi), down = matmul(psi.T(), s[0]);
                   s[0] = up / sum(up, {-1}, keepdims);
                   s[1] = down / sum(down, {-1}, keepdims);
                 }});
  const Tensor w = values({n, 4 * n}, 11, -0.1f, 0.1f), u = values({n, 4 * n}, 12, -0.1f, 0.1f),
               bias = values({4 * n}, 13, -0.1f, 0.1f);
  const Tensor input = values({32, n}, 14, -1, 1);
  all.push_back({"lstm",
                 [] {
                   return State{zeros({32, n}), zeros({32, n})};
                 },
                 [=](State& s, int) {
                   const Tensor z = matmul(input, w) + matmul(s[0], u) + bias;
                   const auto gate = [&](int64_t i) { return z(_, slice(i * n, (i + 1) * n)); };
                   s[1] = sigmoid(gate(1)) * s[1] + sigmoid(gate(0)) * tanh(gate(2));
                   s[0] = sigmoid(gate(3)) * tanh(s[1]);
                 }});
  const Tensor x = values({32, n}, 15, -1, 1), y = values({32, n}, 16, -1, 1);
  const auto adam = [=](State& s, int t, int layers) {
    State h{x};
    for (int l = 0; l < layers; ++l) h.push_back(tanh(matmul(h.back(), s[static_cast<size_t>(3 * l)])));
    Tensor d = (h.back() - y) / 32;
    State g(static_cast<size_t>(layers));
    for (int l = layers; l-- > 0;) {
      const auto i = static_cast<size_t>(l);
      const Tensor through = d * (1 - h[i + 1] * h[i + 1]);
      g[i] = matmul(h[i].T(), through);
      d = matmul(through, s[3 * i].T());
    }
    const float c1 = 1 / (1 - std::pow(0.9f, static_cast<float>(t + 1))),
                c2 = 1 / (1 - std::pow(0.999f, static_cast<float>(t + 1)));
    for (size_t i = 0; i < g.size(); ++i) {
      Tensor &p = s[3 * i], &m = s[3 * i + 1], &v = s[3 * i + 2];
      m = 0.9f * m + 0.1f * g[i];
      v = 0.999f * v + 0.001f * g[i] * g[i];
      p -= 1e-3f * (m * c1) / (sqrt(v * c2) + 1e-8f);
    }
  };
  all.push_back({"adam_mlp",
                 [] {
                   State s;
                   for (uint32_t l = 0; l < 3; ++l) {
                     s.push_back(values({n, n}, 20 + l, -0.1f, 0.1f));
                     s.push_back(zeros({n, n}));
                     s.push_back(zeros({n, n}));
                   }
                   return s;
                 },
                 [=](State& s, int t) { adam(s, t, 3); }});
  all.push_back({"conjugate_gradient",
                 [=] {
                   const Tensor b = values({n, 1}, 30, -1, 1);
                   return State{zeros({n, 1}), b, b, sum(b * b)};
                 },
                 [=](State& s, int) {
                   const Tensor ap = matmul(a, s[2]) + s[2], alpha = s[3] / sum(s[2] * ap);
                   s[0] = s[0] + alpha * s[2];
                   s[1] = s[1] - alpha * ap;
                   const Tensor rr = sum(s[1] * s[1]);
                   s[2] = s[1] + rr / (s[3] + 1e-30f) * s[2];
                   s[3] = rr;
                 }});
  all.push_back({"running_sum", two, [=](State& s, int) {
                   s[0] = matmul(a, s[0]);
                   s[1] = s[1] + exp(s[0]);
                 }});
  return all;
}

double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void evaluate(State& s) {
  for (Tensor& t : s) t.eval();
}

/// Returns the milliseconds of `steps` steps.
double run(const Recurrence& r, int steps, int each) {
  State s = r.begin();
  evaluate(s);
  const double start = now();
  for (int t = 0; t < steps; ++t) {
    r.step(s, t);
    if ((t + 1) % each == 0) evaluate(s);
  }
  evaluate(s);
  return now() - start;
}

struct Measured {
  double cold = 0, warm = 0;
  uint64_t kernels = 0, peak = 0, flushes = 0, launches = 0;
};
Measured measure(const Recurrence& r, int steps, int each, int rounds) {
  Measured m;
  reset_metrics();
  const uint64_t before = metrics().bytes_live;
  m.cold = run(r, steps, each);
  const Metrics after = metrics();
  m.kernels = after.kernels_compiled;
  m.peak = after.bytes_peak - before;
  m.flushes = after.flushes;
  m.launches = after.launches;
  run(r, steps, each);  // what liveness has learned may compile once more
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) times.push_back(run(r, steps, each));
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  m.warm = times[static_cast<size_t>(rounds) / 2];
  return m;
}

}  // namespace

int main(int argc, char** argv) {
  int steps = 1000, rounds = 5;
  const char* only = "";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--steps")) steps = std::atoi(argv[i + 1]);
    else if (!std::strcmp(argv[i], "--rounds")) rounds = std::atoi(argv[i + 1]);
    else if (!std::strcmp(argv[i], "--only")) only = argv[i + 1];
    else return std::fprintf(stderr, "bench_recurrences [--steps T] [--only NAME] [--rounds N]\n"), 2;
  }
  std::printf("%-20s %6s %9s %9s %6s %9s %8s %8s %9s %9s\n", "recurrence", "steps", "each_ms", "flush_ms",
              "ratio", "cold_ms", "kernels", "launches", "each_MiB", "flush_MiB");
  for (const Recurrence& r : recurrences()) {
    if (*only && std::string(r.name).find(only) == std::string::npos) continue;
    const Measured each = measure(r, steps, 1, rounds), whole = measure(r, steps, steps, rounds);
    std::printf("%-20s %6d %9.2f %9.2f %6.2f %9.1f %8llu %8llu %9.2f %9.2f\n", r.name, steps, each.warm,
                whole.warm, whole.warm / each.warm, whole.cold,
                static_cast<unsigned long long>(whole.kernels),
                static_cast<unsigned long long>(whole.launches), static_cast<double>(each.peak) / 1048576,
                static_cast<double>(whole.peak) / 1048576);
    std::fflush(stdout);
  }
}
