// Says how much memory was in use over time, and which lines held it.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trace.hpp"

namespace report {

/// Describes what one line held. Bytes.
struct Holder {
  int name = 0;  // of Trace::strings: "main.cpp:14", "main.cpp:14, kept for later runs"
  double at_peak = 0, most = 0, at_end = 0;  // when all held most together; ever; when the recording ended
};

/// Returns the highest of the samples.
double peak_of(const std::vector<Sample>&);
/// Sorts the samples, and chooses the process whose memory is shown: which had the most.
void sort_memory(Trace&);
/// Returns those who held memory, who had most at the peak first.
std::vector<Holder> holders(const Trace&);
/// Returns the microsecond at which all held most together.
double peak_time(const Trace&);
/// Returns what is in the page: samples of all memory, those of the largest holders, the holders.
nlohmann::json memory_json(const Trace&);
/// Returns lines of text; empty if the trace has no memory.
std::string memory_text(const Trace&);
/// Returns the peak and the holders, as they are in the summary's JSON; null if the trace has no memory.
nlohmann::ordered_json memory_summary(const Trace&);

}  // namespace report
