// Puts the traces of ranks into one.
#pragma once
#include <filesystem>
#include <string>

namespace lazy::tool {

/// Returns "trace.rank3.json" of "trace.json".
std::string trace_of_rank(const std::string& file, int rank);

/// Writes one trace of those of ranks 0, 1, ... that were written since `begun`, on one clock: lazy-report
/// and Chrome show all ranks side by side, exchanges joined by arrows; their summary goes to standard error.
/// Clocks of several hosts are as their system times are. Does nothing where there are none; says on standard
/// error which are not readable.
void merge_traces(const std::string& file, int ranks, std::filesystem::file_time_type begun);

}  // namespace lazy::tool
