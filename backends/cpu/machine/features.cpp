#include "backends/cpu/machine/features.hpp"

#include <cpuid.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "support/cgroup.hpp"
#include "support/error.hpp"
#include "support/lock.hpp"

namespace lazy::cpu_backend {
namespace {

struct Regs {
  unsigned a = 0, b = 0, c = 0, d = 0;
};
Regs cpuid(unsigned input, unsigned sub = 0) {
  Regs r;
  __cpuid_count(input, sub, r.a, r.b, r.c, r.d);
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

/// True if the processor multiplies tiles of bfloat16 and of bytes, each of 16 rows of 64 bytes, and the
/// operating system lets this process.
bool takes_tiles(const Regs& seven, uint64_t state) {
  constexpr int bf16 = 22, tile = 24, int8 = 25;
  constexpr uint64_t tile_state = 0x60000;
  if (!has(seven.d, {bf16, tile, int8}) || (state & tile_state) != tile_state) return false;
  const Regs palette = cpuid(0x1d, 1);
  if (palette.a >> 16 != 1024 || (palette.b & 0xffff) != 64 || palette.b >> 16 < 8 ||
      (palette.c & 0xffff) < 16)
    return false;
  constexpr long request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, for the whole process
  return syscall(SYS_arch_prctl, request, tile_data) == 0;
}

bool is_amd() {
  constexpr unsigned begins = 0x68747541;  // "Auth"
  return cpuid(0).b == begins;
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
  if ((state & 0xe6) != 0xe6 || !has(seven.b, {f, dq, cd, bw, vl})) return Isa::avx2;  // and opmask, zmm
  constexpr int bf16 = 5;
  if (!has(cpuid(7, 1).a, {bf16})) return Isa::avx512;
  if (takes_tiles(seven, state)) return Isa::amx;
  // Intel's dot products of bfloat16 are slower than float32's fused multiply-add: one in two cycles and
  // more.
  return is_amd() ? Isa::avx512_bf16 : Isa::avx512;
}

/// Returns a file's first line. It uses no streams: this is part of every process's start.
std::string line_of(const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char text[64];
  const ssize_t n = read(fd, text, sizeof text);
  close(fd);
  const std::string_view all(text, n > 0 ? static_cast<size_t>(n) : 0);
  return std::string(all.substr(0, all.find('\n')));
}

size_t cache_size(int name, size_t otherwise) {
  const long n = sysconf(name);
  return n > 0 ? static_cast<size_t>(n) : otherwise;
}

/// Returns the size of the first processor's third level by the kernel; the C library's is, on AMD, that of
/// all of the socket's together.
size_t third_level() {
  for (const char* index : {"3", "2", "4"}) {  // usually there are two first levels, a second and a third
    const std::string dir = std::string("/sys/devices/system/cpu/cpu0/cache/index") + index + "/";
    if (line_of(dir + "level") != "3") continue;
    const size_t kib = std::strtoul(line_of(dir + "size").c_str(), nullptr, 10);
    if (kib > 0) return kib << 10;
  }
  return cache_size(_SC_LEVEL3_CACHE_SIZE, 16 << 20);
}

/// The quota, in processors, of a control group that sets no limit.
constexpr double kUnlimited = 1e9;
double quota_of(const std::string& dir) {
  double period = 0, us = -1;
  std::string quota;
  if (std::ifstream v2(dir + "/cpu.max"); v2 >> quota >> period)
    return quota == "max" || period <= 0 ? kUnlimited : std::strtod(quota.c_str(), nullptr) / period;
  if (std::ifstream(dir + "/cpu.cfs_quota_us") >> us && std::ifstream(dir + "/cpu.cfs_period_us") >> period &&
      us > 0 && period > 0)
    return us / period;
  return kUnlimited;
}

/// Returns the smallest quota of this process's group and all groups above it.
double read_quota() {
  double least = kUnlimited;
  for (const std::string& folder : cgroup_folders("cpu")) least = std::min(least, quota_of(folder));
  return least;
}

}  // namespace

const char* name_of(Isa isa) {
  constexpr const char* names[] = {"reference", "avx2", "avx512", "avx512_bf16", "amx"};
  return names[static_cast<int>(isa)];
}

Isa best_isa() {
  static constinit Once<const Isa> isa;
  return isa.get(detect);
}

std::string processor_name() {
  constexpr unsigned first = 0x80000002;
  if (cpuid(0x80000000).a < first + 2) return "x86-64";
  std::string name;
  for (unsigned input = first; input <= first + 2; ++input) {
    const Regs r = cpuid(input);
    for (const unsigned word : {r.a, r.b, r.c, r.d})
      for (int i = 0; i < 4; ++i)
        if (const char c = static_cast<char>(word >> (8 * i)); c) name += c;
  }
  return name;
}

bool has_vnni() {
  constexpr int vnni = 11;
  static constinit Once<const bool> yes;
  return yes.get([] { return best_isa() >= Isa::avx512 && has(cpuid(7).c, {vnni}); });
}

Isa isa_from(std::string_view word) {
  const Isa best = best_isa();
  if (word == "auto") return best;
  for (Isa isa : {Isa::reference, Isa::avx2, Isa::avx512, Isa::amx})
    if (word == name_of(isa)) {
      if (isa > best)
        throw DeviceError("LAZY_CPU_ISA=" + std::string(word) + ": this machine goes up to " +
                          name_of(best == Isa::avx512_bf16 ? Isa::avx512 : best));
      return isa == Isa::avx512 && best == Isa::avx512_bf16 ? best : isa;
    }
  throw ConfigError("LAZY_CPU_ISA=" + std::string(word) + ": expected auto, amx, avx512, avx2 or reference");
}

const Caches& caches() {
  static constinit Once<const Caches> c;
  return c.get([] {
    // Of the hundreds of MiB that a processor of many cores shares among them, a process that keeps a few of
    // these busy holds no more than some second-level caches' worth, whatever the kernel says.
    constexpr size_t kSecondLevelsInThird = 32;
    const size_t l2 = cache_size(_SC_LEVEL2_CACHE_SIZE, 1 << 20);
    return Caches{cache_size(_SC_LEVEL1_DCACHE_SIZE, 32 << 10), l2,
                  std::min(third_level(), kSecondLevelsInThird * l2)};
  });
}

int usable_processors() {
  static constinit Once<const int> n;
  return n.get([] {
    cpu_set_t set;
    const int affine = sched_getaffinity(0, sizeof set, &set) == 0
                           ? CPU_COUNT(&set)
                           : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    return std::max(1, static_cast<int>(std::min<double>(affine, std::max(1.0, std::round(read_quota())))));
  });
}

}  // namespace lazy::cpu_backend
