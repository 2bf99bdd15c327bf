// Makes the inputs of the benchmarks: the same numbers at every run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

/// Returns `n` numbers evenly spread over [low, high).
std::vector<float> uniform(int64_t n, float low, float high, uint64_t seed);

/// Returns 1,000 different sizes from 1,000 to 20,000, in no order.
std::vector<int64_t> changing_sizes();

}  // namespace bench
