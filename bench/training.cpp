// Times steps of training: forward, backward and update in one flush. Prints one line each: the median of a
// step in milliseconds once it is warm, the first step with all that it compiles, the peak of tensor bytes
// and of the process and by how much it grew, and how many flushes and programs the steps took.
// bench/peers/training.py does the same with torch, training_jax.py with JAX. Compare memory a workload at a
// time: a process never shrinks.
//
//   bench_training [--only NAME] [--seconds S]
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <lazy/lazy.hpp>
#include <string>
#include <vector>

#include "training_steps.hpp"

namespace {
using namespace lazy;
using namespace bench;
using clock = std::chrono::steady_clock;

double milliseconds_since(clock::time_point t) {
  return std::chrono::duration<double, std::milli>(clock::now() - t).count();
}

/// Returns the most memory that the process has had, in MB.
double process_mb() {
  rusage r;
  getrusage(RUSAGE_SELF, &r);
  return static_cast<double>(r.ru_maxrss) / 1e3;
}

/// Runs a step and waits for it: on a GPU `eval` returns before the work is done.
void run(const std::function<Tensor()>& step) {
  step().eval();
  synchronize();
}

void measure(const Training& w, double seconds) {
  manual_seed(1);
  const double at_start = process_mb();
  const auto step = w.begin();
  auto first = clock::now();
  run(step);
  const double first_step = milliseconds_since(first);
  // The model is as it was, but for one step: what came with it is not counted.
  reset_metrics();
  const uint64_t before = metrics().bytes_live;
  const auto begin = clock::now();
  first = clock::now();
  run(step);
  const double second = milliseconds_since(first);
  run(step);
  const uint64_t misses = metrics().program_misses;
  std::vector<double> times;
  const uint64_t flushes = metrics().flushes;
  while (times.size() < 5 || (milliseconds_since(begin) < 1000 * seconds && times.size() < 400)) {
    first = clock::now();
    run(step);
    times.push_back(milliseconds_since(first));
  }
  std::sort(times.begin(), times.end());
  const Metrics m = metrics();
  std::printf(
      "%s,median_ms=%.3f,min_ms=%.3f,first_step_ms=%.1f,second_step_ms=%.1f,peak_mb=%.1f,extra_mb=%.1f,"
      "process_mb=%.0f,grown_mb=%.0f,flushes_a_step=%.2f,late_compiles=%llu\n",
      w.name, times[times.size() / 2], times[0], first_step, second, static_cast<double>(m.bytes_peak) / 1e6,
      static_cast<double>(m.bytes_peak - before) / 1e6, process_mb(), process_mb() - at_start,
      static_cast<double>(m.flushes - flushes) / static_cast<double>(times.size()),
      static_cast<unsigned long long>(m.program_misses - misses));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::string only;
  double seconds = 3;
  for (int i = 1; i + 1 < argc; i += 2)
    if (!std::strcmp(argv[i], "--only")) only = argv[i + 1];
    else if (!std::strcmp(argv[i], "--seconds")) seconds = std::atof(argv[i + 1]);
  for (const Training& w : trainings())
    if (std::string(w.name).find(only) != std::string::npos) measure(w, seconds);
}
