// Names kernels for logs, traces, perf and GDB. A program serves every source that records its
// graph, also from disk, so the lines are those of the captured graph that runs it now.
#pragma once
#include <string>

#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Returns a name such as "map_add_main.cpp_14". Without a captured graph, only what kind of kernel it is.
std::string step_name(const Step&, const CapturedGraph*);
/// Returns a line such as "path/main.cpp:14"; empty without a captured graph.
std::string step_line(const Step&, const CapturedGraph*);
/// Returns for what purpose a composite of the library's recorded it ("conv2d: weights to channels last");
/// null if none did.
const char* step_purpose(const Step&, const CapturedGraph*);
/// Returns the name of the function that recorded a call: its purpose, else the call's own name.
const char* function_of(const Step&, const CapturedGraph&);
/// Returns text such as "map_add_main.cpp_14: 3 ops, 2 operands, tile group 0 (conv2d: weights to channels
/// last)".
std::string step_text(const Program&, size_t step, const CapturedGraph*);
/// Returns the line of the value that the step goes by.
const Site& site_of(const Step&, const CapturedGraph&);
/// Sets the texts and lines of all steps.
void name_steps(Program&, const CapturedGraph*);

}  // namespace lazy::jit
