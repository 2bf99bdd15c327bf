// Measures calls of a model.
#pragma once
#include "nlohmann/json.hpp"
#include "support/error.hpp"
#include "tools/run/model.hpp"

namespace lazy::tool {

struct MeasureOptions {
  int calls = 0;    // 0: as many as fit in two seconds, at least 10
  int threads = 0;  // that a call uses at most; 0: all
  int kernels = 5;  // of so many kernels, and kinds of them, the share of the time is said
};

/// Calls the model through a session, or as it is where a session can't ("session" then says why not), and
/// returns times in milliseconds, counts and memory. Inputs that are one integer are bound.
nlohmann::ordered_json measure(Model&, const NamedTensors& inputs, const MeasureOptions&);
void print_measurement(const nlohmann::ordered_json&);
/// Returns the text of an error without the line of the source, which is this tool's.
std::string plain_text(const Error&);
/// Returns a line of /proc/self/status, such as VmHWM, in bytes; 0 where there is none.
uint64_t status_bytes(const std::string& line);

}  // namespace lazy::tool
