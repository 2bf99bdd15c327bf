#include "backends/cpu/threads/machine.hpp"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "cache/process_store.hpp"
#include "support/archive.hpp"
#include "support/lock.hpp"
#include "support/profile.hpp"

namespace lazy::cpu_backend {
namespace {

/// Returns the nanoseconds of one call: the fastest of a few, since other work of the machine only adds.
template <class F>
double fastest(int calls, F&& f) {
  using Clock = std::chrono::steady_clock;
  double best = 1e18;
  for (int i = 0; i < calls; ++i) {
    const auto start = Clock::now();
    f();
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  return best;
}

constexpr int kChains = 12, kRounds = 400;

// The compiler sees the registers as values that it can't know, so that it removes nothing.
__attribute__((target("avx512f"))) void multiply_add_512() {
  __m512 x[kChains], y = _mm512_set1_ps(0.5f);
  for (auto& v : x) v = y;
  for (int i = 0; i < kRounds; ++i)
    for (auto& v : x) {
      v = _mm512_fmadd_ps(v, y, y);
      asm volatile("" : "+v"(v));
    }
}
__attribute__((target("avx2,fma"))) void multiply_add_256() {
  __m256 x[kChains], y = _mm256_set1_ps(0.5f);
  for (auto& v : x) v = y;
  for (int i = 0; i < kRounds; ++i)
    for (auto& v : x) {
      v = _mm256_fmadd_ps(v, y, y);
      asm volatile("" : "+x"(v));
    }
}
void multiply_add() { best_isa() >= Isa::avx512 ? multiply_add_512() : multiply_add_256(); }

/// Copies within `bytes` of memory, which the caches hold if they can; returns GB/s.
double copy_gbs(char* memory, size_t bytes) {
  const size_t half = bytes / 2, times = std::max<size_t>(1, (size_t{64} << 10) / half);
  const double ns = fastest(4, [&] {
    for (size_t i = 0; i < times; ++i) std::memcpy(memory + half, memory, half);
    asm volatile("" ::"r"(memory) : "memory");
  });
  return static_cast<double>(2 * half * times) / ns;
}
/// Copies from and to main memory: the data are flushed from the caches before.
double cold_copy_gbs(char* memory, size_t bytes) {
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    for (size_t at = 0; at < bytes; at += 64) _mm_clflush(memory + at);
    _mm_mfence();
    const double ns = fastest(1, [&] { std::memcpy(memory + bytes / 2, memory, bytes / 2); });
    asm volatile("" ::"r"(memory) : "memory");
    best = std::max(best, static_cast<double>(bytes) / ns);
  }
  return best;
}

/// Returns how much longer two pieces take than one. They are long enough that both do not run on the caller.
double measure_dispatch() {
  if (thread_count() < 2) return 0;
  const auto spin = [](int64_t) {
    for (int i = 0; i < 12; ++i) multiply_add();  // some 20 us
  };
  const double alone = fastest(10, [&] { spin(0); });
  for (int i = 0; i < 10; ++i) for_each(2, spin);  // wakes them
  return std::max(0., fastest(40, [&] { for_each(2, spin); }) - alone);
}

Machine measure() {
  Machine m{};
  m.fma_ns = fastest(5, multiply_add) / (kChains * kRounds);
  const Scratch memory(int64_t{4} << 20);
  std::memset(memory.data(), 1, size_t{4} << 20);
  m.l1_gbs = copy_gbs(memory.data(), caches().l1d / 2);
  m.l2_gbs = std::min(m.l1_gbs, copy_gbs(memory.data(), std::min(caches().l2 / 2, size_t{4} << 20)));
  m.l3_gbs = std::min(m.l2_gbs, copy_gbs(memory.data(), size_t{4} << 20));
  m.memory_gbs = std::min(m.l3_gbs, cold_copy_gbs(memory.data(), size_t{1} << 20));
  m.dispatch_ns = measure_dispatch();
  return m;
}

/// Returns the key under which the figures are stored for a week, for this processor and number of threads.
std::string name_of_machine() {
  std::string key = "machine";
  key += '\0';
  const Caches& c = caches();
  Saver s;
  s(processor_name(), best_isa(), thread_count(), c.l1d, c.l2, c.l3,
    std::chrono::duration_cast<std::chrono::weeks>(std::chrono::system_clock::now().time_since_epoch())
        .count());
  return key += s.bytes();
}
bool recall(cache::Store& store, const cache::KeyView& key, Machine& m) {
  for (const cache::Record& r : store.find(key)) {
    Loader l(r.value());
    l(m.fma_ns, m.l1_gbs, m.l2_gbs, m.l3_gbs, m.memory_gbs, m.dispatch_ns);
    if (l.done() && m.fma_ns > 0 && m.l1_gbs > 0 && m.l2_gbs > 0 && m.l3_gbs > 0 && m.memory_gbs > 0)
      return true;
  }
  return false;
}
void remember(cache::Store& store, const cache::KeyView& key, const Machine& m) {
  Saver s;
  s(m.fma_ns, m.l1_gbs, m.l2_gbs, m.l3_gbs, m.memory_gbs, m.dispatch_ns);
  store.add(key, 0, s.bytes());
}
double peak_gflops(const Machine& m) { return (best_isa() >= Isa::avx512 ? 32 : 16) / m.fma_ns; }

}  // namespace

const Machine& machine() {
  static constinit Once<const Machine> m;
  return m.get([]() -> Machine {
    const auto store = cache::process_store();
    const std::string key = store ? name_of_machine() : std::string();
    const cache::KeyView view(key.data(), key.size());
    if (Machine known; store && recall(*store, view, known)) return known;
    const Machine measured = measure();
    if (store) remember(*store, view, measured);
    return measured;
  });
}

double least_time(double bytes, double flops, int threads) {
  const Machine& m = machine();
  const auto fits = [bytes](size_t cache) { return bytes <= static_cast<double>(cache); };
  const double gbs = fits(caches().l1d)  ? m.l1_gbs
                     : fits(caches().l2) ? m.l2_gbs
                     : fits(caches().l3) ? m.l3_gbs
                                         : m.memory_gbs;
  return std::max(flops / peak_gflops(m), bytes / gbs) / threads;
}

void record_machine() {
  using profile::Type;
  static constexpr profile::Kind kind{"machine",
                                      "machine",
                                      {{{"instruction_set", Type::text},
                                        {"threads", Type::integer},
                                        {"l1_bytes", Type::integer},
                                        {"l2_bytes", Type::integer},
                                        {"l3_bytes", Type::integer},
                                        {"peak_gflops", Type::real},
                                        {"l1_gbs", Type::real},
                                        {"l2_gbs", Type::real},
                                        {"l3_gbs", Type::real},
                                        {"memory_gbs", Type::real},
                                        {"dispatch_us", Type::real}}},
                                      profile::Form::instant};
  const Machine& m = machine();
  const Caches& c = caches();
  const profile::Ticks now = profile::now();
  profile::put(kind, now, now, static_cast<const char*>(name_of(best_isa())), thread_count(), c.l1d, c.l2,
               c.l3, peak_gflops(m), m.l1_gbs, m.l2_gbs, m.l3_gbs, m.memory_gbs, m.dispatch_ns / 1000);
}

double bandwidth(const Machine& m, double footprint) {
  const Caches& c = caches();
  if (footprint <= static_cast<double>(c.l1d)) return m.l1_gbs;
  if (footprint <= static_cast<double>(c.l2)) return m.l2_gbs;
  return footprint <= static_cast<double>(c.l3) ? m.l3_gbs : m.memory_gbs;
}

std::string to_string(const Machine& m) {
  char text[512];
  const Caches& c = caches();
  std::snprintf(text, sizeof text,
                "instruction set    %s\n"
                "threads            %d\n"
                "caches             %zu KiB, %zu KiB, %zu KiB\n"
                "float32 peak       %.1f GFLOP/s a thread\n"
                "copies             %.0f, %.0f, %.0f GB/s in the caches, %.1f in memory\n"
                "dispatch           %.2f us\n",
                name_of(best_isa()), thread_count(), c.l1d >> 10, c.l2 >> 10, c.l3 >> 10, peak_gflops(m),
                m.l1_gbs, m.l2_gbs, m.l3_gbs, m.memory_gbs, m.dispatch_ns / 1000);
  return text;
}

}  // namespace lazy::cpu_backend
