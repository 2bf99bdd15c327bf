// Says what a program's flushes cost, a line for each line of the user's that asked for values: what
// LAZY_LOG=summary prints at the end, lazy::summarize() returns and lazy-report --text makes of a trace.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace lazy {

struct SummaryKernel {
  std::string name;  // "map_add_main.cpp_14"
  uint64_t launches = 0;
  double ms = 0;
  double bytes = 0, flops = 0;  // that its launches moved and computed
  double least_ms = 0;          // what the machine's limits allow at best; 0: not known
};

/// Adds up the flushes of one cause at one line.
struct SummaryRow {
  std::string cause, at;  // "item", "main.cpp:33"
  uint64_t flushes = 0;
  uint64_t hits = 0, loaded = 0, compiled = 0;  // where their programs came from: memory, disk, the compiler
  double flush_ms = 0;                          // in flushes, compiling included
  double compile_ms = 0;                        // compiling and loading
  double after_ms = 0;                          // from each of them to the thread's next flush
  uint64_t fewest_ops = 0, most_ops = 0;        // of a flush
  std::vector<SummaryKernel> kernels;           // the dearest first
  std::string miss;                             // why the latest that compiled did
};

struct Summary {
  double wall_ms = 0;              // that the summary is of
  std::vector<SummaryRow> rows;    // the dearest first
  std::vector<std::string> hints;  // what LAZY_HINTS said meanwhile
};

/// Puts rows and their kernels in order.
void sort(Summary&);
/// Returns a table of lines; rows beyond so many are counted in one.
std::string to_string(const Summary&, size_t most_rows = 20);
std::ostream& operator<<(std::ostream&, const Summary&);
/// Returns the summary as a JSON object with the names of the fields above.
std::string to_json(const Summary&);

}  // namespace lazy
