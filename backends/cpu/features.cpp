#include "backends/cpu/features.hpp"

#include <cpuid.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "support/error.hpp"

namespace lazy::cpu {
namespace {

struct Regs {
  unsigned a = 0, b = 0, c = 0, d = 0;
};
Regs cpuid(unsigned leaf, unsigned sub = 0) {
  Regs r;
  __cpuid_count(leaf, sub, r.a, r.b, r.c, r.d);
  return r;
}
bool has(unsigned reg, std::initializer_list<int> bits) {
  return std::all_of(bits.begin(), bits.end(), [reg](int b) { return reg >> b & 1; });
}
uint64_t enabled_state() {
  unsigned lo, hi;
  asm volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
  return uint64_t{hi} << 32 | lo;
}

Isa detect() {
  if (cpuid(0).a < 7) return Isa::reference;
  const Regs one = cpuid(1), seven = cpuid(7);
  constexpr int fma = 12, osxsave = 27, avx = 28, f16c = 29;
  if (!has(one.c, {fma, osxsave, avx, f16c})) return Isa::reference;
  const uint64_t state = enabled_state();
  if ((state & 0x6) != 0x6) return Isa::reference;  // xmm, ymm
  constexpr int bmi1 = 3, avx2 = 5, bmi2 = 8;
  if (!has(seven.b, {bmi1, avx2, bmi2})) return Isa::reference;
  constexpr int f = 16, dq = 17, cd = 28, bw = 30, vl = 31;
  if ((state & 0xe6) == 0xe6 && has(seven.b, {f, dq, cd, bw, vl})) return Isa::avx512;  // and opmask, zmm
  return Isa::avx2;
}

size_t cache_size(int name, size_t otherwise) {
  const long n = sysconf(name);
  return n > 0 ? static_cast<size_t>(n) : otherwise;
}

double read_quota() {
  constexpr double unlimited = 1e9;
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period) return quota == "max" || period <= 0 ? unlimited : std::stod(quota) / period;
  for (const char* dir : {"/sys/fs/cgroup/cpu/", "/sys/fs/cgroup/cpu,cpuacct/"}) {
    std::ifstream q(std::string(dir) + "cpu.cfs_quota_us"), p(std::string(dir) + "cpu.cfs_period_us");
    double us = -1;
    if (q >> us && p >> period && us > 0 && period > 0) return us / period;
  }
  return unlimited;
}

}  // namespace

const char* name_of(Isa isa) {
  constexpr const char* names[] = {"reference", "avx2", "avx512"};
  return names[static_cast<int>(isa)];
}

Isa best_isa() {
  static const Isa isa = detect();
  return isa;
}

bool has_vnni() {
  constexpr int vnni = 11;
  static const bool yes = best_isa() == Isa::avx512 && has(cpuid(7).c, {vnni});
  return yes;
}

Isa isa_from(std::string_view word) {
  if (word == "auto") return best_isa();
  for (Isa isa : {Isa::reference, Isa::avx2, Isa::avx512})
    if (word == name_of(isa)) {
      if (isa > best_isa())
        throw DeviceError("LAZY_CPU_ISA=" + std::string(word) + ": this machine goes up to " +
                          name_of(best_isa()));
      return isa;
    }
  throw ConfigError("LAZY_CPU_ISA=" + std::string(word) + ": expected auto, avx512, avx2 or reference");
}

const Caches& caches() {
  static const Caches c{cache_size(_SC_LEVEL1_DCACHE_SIZE, 32 << 10),
                        cache_size(_SC_LEVEL2_CACHE_SIZE, 1 << 20),
                        cache_size(_SC_LEVEL3_CACHE_SIZE, 16 << 20)};
  return c;
}

int usable_processors() {
  static const int n = [] {
    cpu_set_t set;
    const int affine = sched_getaffinity(0, sizeof set, &set) == 0
                           ? CPU_COUNT(&set)
                           : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    return std::max(1, static_cast<int>(std::min<double>(affine, std::max(1.0, std::round(read_quota())))));
  }();
  return n;
}

}  // namespace lazy::cpu
