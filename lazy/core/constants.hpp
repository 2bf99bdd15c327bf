// Names numbers, as the array API does. `nan` is missing: <cmath> has a function ::nan, with which it would
// be ambiguous under `using namespace lazy`; <cmath> has NAN.
#pragma once
#include <limits>
#include <numbers>

namespace lazy {

inline constexpr double pi = std::numbers::pi;
inline constexpr double e = std::numbers::e;
inline constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace lazy
