// The report as one HTML page that needs nothing else.
#pragma once
#include <string>

#include "trace.hpp"

namespace report {

/// `most_spans`: more than these are left out of the timeline, the shortest first.
std::string make_page(const Trace&, const std::string& title, size_t most_spans);

}  // namespace report
