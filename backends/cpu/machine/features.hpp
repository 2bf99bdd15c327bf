// Detects what this machine can do: instruction set level, caches, processors that may be used.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lazy::cpu_backend {

/// Names an instruction set level. avx2: AVX2, FMA, F16C, BMI1 and BMI2. avx512: also AVX-512 F, CD, BW, DQ
/// and VL. avx512_bf16: that, and dot products of bfloat16. amx: that, and products of tiles of bfloat16 and
/// of bytes. reference: plain C++ loops.
enum class Isa : uint8_t { reference, avx2, avx512, avx512_bf16, amx };
const char* name_of(Isa);

/// Returns the highest level that the processor and the operating system support.
Isa best_isa();
/// Returns the level called "auto", "amx", "avx512" (avx512_bf16 where that is the best), "avx2" or
/// "reference". Throws ConfigError for another word and DeviceError for a level that the machine lacks.
Isa isa_from(std::string_view);

/// Returns the processor's name for itself.
std::string processor_name();

/// True if the processor has AVX-512 VNNI: it adds up products of 8- and 16-bit integers in one instruction.
bool has_vnni();

struct Caches {
  size_t l1d, l2;  // bytes of one core's
  size_t l3;       // bytes that one process may count on: of a huge one, neighbours have most
};
const Caches& caches();

/// Returns how many processors this process may keep busy: the smaller of its affinity mask and its cgroup's
/// quota, at least 1.
int usable_processors();

}  // namespace lazy::cpu_backend
