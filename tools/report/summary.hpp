// Adds up a trace's flushes by the line that asked for a value.
#pragma once
#include "support/summary.hpp"
#include "trace.hpp"

namespace report {

lazy::Summary summary_of(const Trace&);

}  // namespace report
