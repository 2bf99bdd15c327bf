// Computes 128-bit hashes of bytes (XXH3). A hash only finds candidates: users must compare the bytes as
// well.
#pragma once
#include <cstddef>
#include <cstdint>

namespace lazy {

struct Hash128 {
  uint64_t lo = 0, hi = 0;
  friend constexpr bool operator==(const Hash128&, const Hash128&) = default;
};

/// Returns XXH3 of `size` bytes, cut to its low LAZY_CACHE_HASH_BITS bits (128 unless a test asks for
/// collisions).
Hash128 hash128(const void* bytes, size_t size);

/// Returns XXH3 of `size` bytes, all 64 bits: a checksum for data on disk.
uint64_t checksum64(const void* bytes, size_t size);

/// Returns the low `bits` (1..128) of a hash.
constexpr Hash128 truncated(Hash128 h, int bits) {
  if (bits >= 128) return h;
  if (bits > 64) return {h.lo, h.hi & ((uint64_t{1} << (bits - 64)) - 1)};
  if (bits == 64) return {h.lo, 0};
  return {h.lo & ((uint64_t{1} << bits) - 1), 0};
}

/// Folds a word into a running 64-bit hash: a 64x64 multiplication, upper and lower halves xored.
constexpr uint64_t mix(uint64_t state, uint64_t word) {
  __extension__ using wide = unsigned __int128;
  const wide p = static_cast<wide>(state ^ 0x9e3779b97f4a7c15u) * (word ^ 0xd6e8feb86659fd93u);
  return static_cast<uint64_t>(p) ^ static_cast<uint64_t>(p >> 64);
}

}  // namespace lazy
