// Times the updates of many parameters: a model's sizes, gradients that are there, one step() and its flush.
// Prints one line an optimizer: milliseconds to record and to flush (medians), kernels run, bytes that
// parameters, gradients and state are in memory, and how fast these were read and written against a triad
// over as much memory, timed in turn with the steps by the same number of threads.
//
//   LAZY_NUM_THREADS=1 bench_updates [--model resnet|small] [--rounds N] [--only NAME] [--clip 1]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <lazy/lazy.hpp>
#include <lazy/optim/optim.hpp>
#include <memory>
#include <string>
#include <vector>

namespace {
using namespace lazy;
using namespace lazy::optim;

/// Returns the sizes of 300 parameters: those of a ResNet-50 and small vectors, 23 million in all; or 300 of
/// 64 to 2048 numbers.
std::vector<int64_t> sizes(const std::string& model) {
  std::vector<int64_t> all;
  if (model == "resnet") {
    constexpr int64_t blocks[4] = {3, 4, 6, 3};
    int64_t in = 64;
    for (int64_t stage = 0; stage < 4; ++stage) {
      const int64_t w = 64 << stage;
      for (int64_t b = 0; b < blocks[stage]; ++b, in = w * 4)
        for (const int64_t n : {in * w, w, w, w * w * 9, w, w, w * w * 4, w * 4, w * 4}) all.push_back(n);
    }
    all.push_back(2048 * 1000);
    all.push_back(1000);
  }
  while (all.size() < 300) all.push_back(64 << all.size() % 6);
  return all;
}

double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

using Make = std::function<std::unique_ptr<Optimizer>(const ParameterList&)>;
struct Case {
  const char* name;
  int reads, writes;  // arrays as long as the parameters
  Make make;
};

struct Measured {
  double record, flush, triad;  // ms; GB/s
  uint64_t launches, flushes, nodes, compiled, peak;
};

Measured measure(const Case& c, const std::vector<int64_t>& of, int rounds, bool clip) {
  std::vector<Parameter> p;
  for (const int64_t n : of) p.emplace_back((arange(0, n, 1, float32) * 1e-7).eval());
  for (Parameter& x : p) x.set_grad((std::as_const(x) + 0.125).eval());
  const auto o = c.make(p);
  constexpr int64_t length = 8 << 20;
  Tensor a = (arange(0, length, 1, float32) * 0.5).eval(), b = (a + 1).eval(), sum;
  Measured m{};
  std::vector<double> record, flush, triad;
  for (int i = 0; i < rounds + 4; ++i) {
    const Metrics before = metrics();
    reset_metrics();
    const double start = now();
    if (clip) clip_grad_norm_(p, 1e6);
    o->step();
    const double recorded = now();
    std::vector<Tensor> all(p.begin(), p.end());
    eval(all);
    const double end = now();
    all.clear();
    const Metrics after = metrics();
    sum = (a + 1.5 * b).eval();
    const double last = now();
    if (i < 3) m.compiled = after.kernels_compiled ? after.kernels_compiled : m.compiled;
    if (i < 4) continue;
    record.push_back(recorded - start), flush.push_back(end - recorded);
    triad.push_back(12e-6 * static_cast<double>(length) / (last - end));
    m.launches = after.launches, m.flushes = after.flushes, m.nodes = after.nodes_recorded;
    m.peak = after.bytes_peak - before.bytes_live;
  }
  m.record = median(record), m.flush = median(flush), m.triad = median(triad);
  return m;
}

template <class O, class Options>
Make with(const Options& options) {
  return [=](const ParameterList& p) { return std::make_unique<O>(p, options); };
}

}  // namespace

int main(int argc, char** argv) {
  std::string model = "resnet", only;
  int rounds = 15;
  bool clip = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--model")) model = argv[i + 1];
    else if (!std::strcmp(argv[i], "--rounds")) rounds = std::atoi(argv[i + 1]);
    else if (!std::strcmp(argv[i], "--only")) only = argv[i + 1];
    else if (!std::strcmp(argv[i], "--clip")) clip = std::atoi(argv[i + 1]) != 0;
    else
      return std::fprintf(stderr,
                          "bench_updates [--model resnet|small] [--rounds N] [--only NAME] [--clip 1]\n"),
             2;
  }
  const std::vector<int64_t> of = sizes(model);
  int64_t total = 0;
  for (const int64_t n : of) total += n;
  const std::vector<Case> cases{
      {"SGD", 2, 1, with<SGD>(SGDOptions{})},    {"momentum", 3, 2, with<SGD>(SGDOptions{.momentum = 0.9})},
      {"Adam", 4, 3, with<Adam>(AdamOptions{})}, {"AdamW", 4, 3, with<AdamW>(AdamWOptions{})},
      {"Lion", 3, 2, with<Lion>(LionOptions{})}, {"RMSprop", 3, 2, with<RMSprop>(RMSpropOptions{})}};
  std::printf("%zu parameters, %.3f million numbers\n", of.size(), 1e-6 * static_cast<double>(total));
  std::printf("%-10s %9s %9s %8s %8s %7s %9s %7s %8s %9s %9s\n", "optimizer", "record_ms", "flush_ms",
              "nodes", "kernels", "flushes", "compiled", "GB/s", "triad", "of_triad", "MB_more");
  for (const Case& c : cases) {
    if (!only.empty() && only != c.name) continue;
    const Measured m = measure(c, of, rounds, clip);
    const double rate = 4e-6 * static_cast<double>(total * (c.reads + c.writes)) / m.flush;
    std::printf("%-10s %9.3f %9.3f %8llu %8llu %7llu %9llu %7.2f %8.2f %9.2f %9.2f\n", c.name, m.record,
                m.flush, static_cast<unsigned long long>(m.nodes),
                static_cast<unsigned long long>(m.launches), static_cast<unsigned long long>(m.flushes),
                static_cast<unsigned long long>(m.compiled), rate, m.triad, rate / m.triad,
                1e-6 * static_cast<double>(m.peak));
    std::fflush(stdout);
  }
}
