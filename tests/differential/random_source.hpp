// Provides a small deterministic source of choices.
#pragma once
#include <cstdint>
#include <vector>

namespace lazy::test {

constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Source {
 public:
  explicit Source(uint64_t seed) : state_(mix(seed + 0x632be59bd9b4e019u)) {}
  uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u); }
  /// Returns a number in [0, n).
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool percent(int p) { return below(100) < p; }
  template <class T>
  const T& pick(const std::vector<T>& v) {
    return v[static_cast<size_t>(below(static_cast<int64_t>(v.size())))];
  }

 private:
  uint64_t state_;
};

}  // namespace lazy::test
