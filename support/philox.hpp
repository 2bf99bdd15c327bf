// Computes Philox4x32-10, random bits as a function of a counter and a key (Salmon, Moraes, Dror, Shaw:
// Parallel random numbers: as easy as 1, 2, 3. SC 2011).
#pragma once
#include <array>
#include <cstdint>

namespace lazy {

/// Returns the block of four words that belongs to a counter and a key.
constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xd2511f53} * counter[0], p1 = uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key = {key[0] + 0x9e3779b9, key[1] + 0xbb67ae85};
  }
  return counter;
}

}  // namespace lazy
