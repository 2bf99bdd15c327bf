// Measures the machine's limits. Prints limit,NAME,UNIT,threads,VALUE.
//    bench_limits [THREADS]
//    bench_limits --serve     answers `clock` (clock,GHZ) and `limits THREADS`, each with a last line `done`
// fma_fp32 is in GFLOP/s, and triad in GB/s (a[i] = b[i] + c * d[i]) over footprints of 24 KiB, 512 KiB, 12
// MiB and 256 MiB a thread; `triad_memory` takes the better of ordinary and streaming stores.
#include <immintrin.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
#ifdef __AVX512F__
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif
typedef float Vector __attribute__((vector_size(kLanes * 4)));

double best_of(int threads, int rounds, const auto& work) {
  double best = 0;
  for (int r = 0; r < rounds; ++r) {
    std::barrier ready(threads);
    std::vector<std::thread> team;
    std::vector<Clock::time_point> starts(static_cast<size_t>(threads)), ends = starts;
    for (int t = 0; t < threads; ++t)
      team.emplace_back([&, t] {
        work(t, true);
        ready.arrive_and_wait();
        starts[static_cast<size_t>(t)] = Clock::now();
        work(t, false);
        ends[static_cast<size_t>(t)] = Clock::now();
      });
    for (std::thread& t : team) t.join();
    const double seconds = std::chrono::duration<double>(*std::max_element(ends.begin(), ends.end()) -
                                                         *std::min_element(starts.begin(), starts.end()))
                               .count();
    best = std::max(best, 1 / seconds);
  }
  return best;
}

double fma_gflops(int threads) {
  constexpr int kChains = 12, kSteps = 2'000'000;
  const auto work = [](int, bool warm) {
    Vector x, y;
    for (int l = 0; l < kLanes; ++l) x[l] = 0.999f, y[l] = 1e-3f;
    // Variables, not an array: that would lie in memory.
    Vector a = y, b = y, c = y, d = y, e = y, f = y, g = y, h = y, i = y, j = y, k = y, l = y;
    for (int n = 0; n < (warm ? kSteps / 20 : kSteps); ++n) {
      a = a * x + y, b = b * x + y, c = c * x + y, d = d * x + y, e = e * x + y, f = f * x + y;
      g = g * x + y, h = h * x + y, i = i * x + y, j = j * x + y, k = k * x + y, l = l * x + y;
      asm volatile("" : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f));
      asm volatile("" : "+v"(g), "+v"(h), "+v"(i), "+v"(j), "+v"(k), "+v"(l));
    }
  };
  return best_of(threads, 7, work) * threads * 2.0 * kChains * kLanes * kSteps * 1e-9;
}

template <bool kStream>
void triad(float* a, const float* b, const float* d, size_t n) {
  Vector c;
  for (int l = 0; l < kLanes; ++l) c[l] = 1.5f;
  for (size_t i = 0; i < n; i += kLanes) {
    const Vector v = *reinterpret_cast<const Vector*>(b + i) + c * *reinterpret_cast<const Vector*>(d + i);
    if constexpr (kStream) {
#ifdef __AVX512F__
      _mm512_stream_ps(a + i, reinterpret_cast<const __m512&>(v));
#else
      _mm256_stream_ps(a + i, reinterpret_cast<const __m256&>(v));
#endif
    } else {
      *reinterpret_cast<Vector*>(a + i) = v;
    }
  }
}

template <bool kStream>
double triad_gbs(int threads, size_t bytes) {
  const size_t n = bytes / 12 / 64 * 64;
  std::vector<float*> memory;
  for (int t = 0; t < threads; ++t) {
    memory.push_back(static_cast<float*>(std::aligned_alloc(64, n * 12)));
    std::fill_n(memory.back(), n * 3, 1.0f);
  }
  const int passes = static_cast<int>(std::max<size_t>(2, (size_t{512} << 20) / (n * 12)));
  const auto work = [&](int t, bool warm) {
    float* a = memory[static_cast<size_t>(t)];
    for (int p = 0; p < (warm ? passes / 20 + 1 : passes); ++p) {
      triad<kStream>(a, a + n, a + 2 * n, n);
      asm volatile("" ::: "memory");
    }
  };
  const double r = best_of(threads, 5, work) * threads * static_cast<double>(n) * 12 * passes * 1e-9;
  for (float* m : memory) std::free(m);
  return r;
}

/// Returns the clock in GHz, less what others took: a chain of multiplications, of three cycles each on every
/// processor with AVX2 (additions won't do: some do several of a chain in a cycle).
double clock_ghz() {
  constexpr int kSteps = 15'000, kUnrolled = 16, kCycles = 3;
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    uint64_t x = 3;
    const auto start = Clock::now();
    for (int i = 0; i < kSteps; ++i) asm volatile(".rept 16\n\timul %0, %0\n\t.endr" : "+r"(x));
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    best = std::max(best, kSteps * kUnrolled * kCycles / ns);
  }
  return best;
}

void limits(int threads) {
  const auto row = [&](const char* name, const char* unit, double value) {
    std::printf("limit,%s,%s,%d,%.4g\n", name, unit, threads, value);
  };
  row("fma_fp32", "GFLOP/s", fma_gflops(threads));
  row("triad_L1", "GB/s", triad_gbs<false>(threads, 24 << 10));
  row("triad_L2", "GB/s", triad_gbs<false>(threads, 512 << 10));
  row("triad_L3", "GB/s", triad_gbs<false>(threads, 12 << 20));
  row("triad_memory", "GB/s",
      std::max(triad_gbs<false>(threads, 256 << 20), triad_gbs<true>(threads, 256 << 20)));
}

int serve() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb;
    int threads = 1;
    words >> verb >> threads;
    if (verb == "clock") std::printf("clock,%.4f\n", clock_ghz());
    else if (verb == "limits") limits(std::max(1, threads));
    else std::printf("error,no question '%s'\n", verb.c_str());
    std::printf("done\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--serve") == 0) return serve();
  limits(argc > 1 ? std::max(1, std::atoi(argv[1])) : 1);
}
