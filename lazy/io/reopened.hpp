// Finds a file that one line reads again and again (LAZY_HINTS). Internal to lazy/io.
#pragma once
#include <cstdint>
#include <string>

#include "support/site.hpp"

namespace lazy::detail {

/// Notes that the function `op` has opened a file of so many bytes, last changed at `changed` (nanoseconds).
/// Says so where the same line has read the same file often, and shortly after one another.
void note_opened(const char* op, const std::string& path, uint64_t bytes, int64_t changed,
                 const Site&) noexcept;

}  // namespace lazy::detail
