#include "inputs.hpp"

namespace bench {

std::vector<float> uniform(int64_t n, float low, float high, uint64_t seed) {
  std::vector<float> v(static_cast<size_t>(n));
  uint64_t state = seed;
  for (float& x : v) {  // splitmix64 (Steele, Lea, Flood 2014)
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    x = low + (high - low) * static_cast<float>(z >> 40) * 0x1p-24f;
  }
  return v;
}

std::vector<int64_t> changing_sizes() {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < 1000; ++i)
    sizes.push_back(1000 + i * 7919 % 19001);  // 7919 and 19001 have no common factor
  return sizes;
}

}  // namespace bench
