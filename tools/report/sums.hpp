// Adds up a trace by line, for the comparison of two.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "trace.hpp"

namespace report {

/// Returns totals, and for each line of the program what was flushed at it and what its kernels took.
/// Microseconds.
nlohmann::json sums_of(const Trace&, const std::string& title);

}  // namespace report
