// Draws the model of a trace: its modules, in which order values go through them, and what each takes.
#pragma once
#include <cstdint>
#include <string>

#include "trace.hpp"

namespace report {

/// Returns an SVG picture of the modules that a program runs forward (TraceModules says which these are),
/// those with this many names in their path at most. `program`: its number; 0: the one with most modules.
/// Throws BadTrace if no program of the trace has modules, or there is none of this number.
std::string model_picture(const Trace&, int64_t program, size_t depth);

}  // namespace report
