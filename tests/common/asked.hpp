// Reads the environment's settings of random tests: LAZY_TEST_SEED, LAZY_TEST_CASES, LAZY_TEST_SHRINK and
// other numbers.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <random>

namespace lazy::test {

inline uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* v = std::getenv(variable);
  return v && *v ? std::strtoull(v, nullptr, 0) : otherwise;
}
/// Returns LAZY_TEST_SEED; if it is unset, another number at each call.
inline uint64_t asked_seed() { return number_from("LAZY_TEST_SEED", std::random_device{}()); }
inline uint64_t asked_cases(uint64_t otherwise) { return number_from("LAZY_TEST_CASES", otherwise); }

/// True if a failing case is to be shrunk. LAZY_TEST_SHRINK=0: it is reported as it is, at once.
inline bool asked_to_shrink() { return number_from("LAZY_TEST_SHRINK", 1) != 0; }

}  // namespace lazy::test
