// Names special values for the library's own formulas; users have lazy::inf and NAN.
#pragma once
#include <limits>

namespace lazy::detail {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace lazy::detail
