// Makes the report: one HTML page that needs nothing else.
#pragma once
#include <string>

#include "trace.hpp"

namespace report {

/// Returns the page. If there are more than `most_spans`, the shortest are omitted from the timeline.
std::string make_page(const Trace&, const std::string& title, size_t most_spans);

}  // namespace report
