#pragma once
#include <cstdint>
#include <string_view>

namespace emulated {

/// Computes the FNV-1a hash.
constexpr uint64_t hash(std::string_view bytes, uint64_t seed = 0xcbf29ce484222325) {
  for (const char c : bytes) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return seed;
}

}  // namespace emulated
