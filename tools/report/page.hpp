// Makes the report: one HTML page that needs nothing else.
#pragma once
#include <string>

#include "trace.hpp"

namespace report {

/// Names a trace that another one is held against.
struct Against {
  Trace trace;
  std::string title;
};

/// Returns the page. If there are more than `most_spans`, the shortest are omitted from the timeline.
/// `against`: shown beside the trace, line by line; null: none.
std::string make_page(const Trace&, const std::string& title, size_t most_spans, const Against* against);

}  // namespace report
