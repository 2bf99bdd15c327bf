// Integer arithmetic that rounds up.
#pragma once
#include <cstdint>

namespace lazy {

/// Returns n / by, rounded up. Neither is negative.
constexpr int64_t divide_up(int64_t n, int64_t by) { return (n + by - 1) / by; }
/// Returns the smallest multiple of `to` that is at least n.
constexpr int64_t round_up(int64_t n, int64_t to) { return divide_up(n, to) * to; }

}  // namespace lazy
