// Measures how the cost of an op and of a flush depends on how much there is: ops in a flush, live tensors,
// programs in the cache. Prints CSV; bench/scaling draws it.
//
//   bench_scaling [--most N]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lazy/lazy.hpp>
#include <vector>

namespace {
using namespace lazy;
using Clock = std::chrono::steady_clock;

/// Returns the next of a sequence of numbers that is the same in every run (splitmix64).
uint64_t next(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Records `ops` ops on small tensors in an order that `seed` selects.
Tensor line(const Tensor& a, const Tensor& b, int64_t ops, uint64_t seed) {
  Tensor t = a;
  for (int64_t i = 0; i < ops; ++i) switch (next(seed) % 4) {
      case 0: t = t + b; break;
      case 1: t = t * b; break;
      case 2: t = maximum(t, a); break;
      default: t = t - a;
    }
  return t;
}

/// Returns the median time of a call of f in nanoseconds, of enough calls to take a while.
template <class F>
double median(F&& f) {
  constexpr double kSeconds = 0.3;
  constexpr size_t kLeast = 5, kMost = 10000;
  std::vector<double> times;
  const auto begin = Clock::now();
  while (times.size() < kLeast ||
         (times.size() < kMost && std::chrono::duration<double>(Clock::now() - begin).count() < kSeconds)) {
    const auto start = Clock::now();
    f();
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

void print(const char* what, int64_t n, double nanoseconds) {
  std::printf("%s,%lld,%.1f\n", what, static_cast<long long>(n), nanoseconds);
  std::fflush(stdout);
}

void ops_in_a_flush(const Tensor& a, const Tensor& b, int64_t most) {
  for (int64_t n = 10; n <= most; n *= 10) {
    const auto run = [&] { line(a, b, n, 1).eval(); };
    run();
    print("ops_in_a_flush", n, median(run) / static_cast<double>(n));
  }
}

void live_tensors(const Tensor& a, const Tensor& b, int64_t most) {
  std::vector<Tensor> live;
  for (int64_t n = 10; n <= most; n *= 10) {
    while (static_cast<int64_t>(live.size()) < n) live.push_back((a + b).eval());
    print("live_tensors", n, median([&] { line(a, b, 10, 1).eval(); }));
  }
}

/// Runs n programs in turn: each is found among n.
void programs_in_cache(const Tensor& a, const Tensor& b, int64_t most) {
  constexpr int64_t kOps = 10;
  for (int64_t n = 10; n <= std::min<int64_t>(most, 10000); n *= 10) {
    const auto all = [&] {
      for (int64_t i = 0; i < n; ++i) line(a, b, kOps, static_cast<uint64_t>(i) << 32).eval();
    };
    all();
    print("programs_in_cache", n, median(all) / static_cast<double>(n));
  }
}

}  // namespace

int main(int argc, char** argv) {
  int64_t most = 100000;
  for (int i = 1; i + 1 < argc; ++i)
    if (!std::strcmp(argv[i], "--most")) most = std::atoll(argv[i + 1]);
  const Tensor a = ones({16}).eval(), b = full({16}, 0.5f).eval();
  std::printf("what,n,ns\n");
  ops_in_a_flush(a, b, most);
  live_tensors(a, b, most);
  programs_in_cache(a, b, most);
  return 0;
}
