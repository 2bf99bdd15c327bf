// Reads and sorts a trace of LAZY_PROFILE.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace report {

/// Says why a file is not usable.
struct BadTrace : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Numbers texts, so that each is in the page once.
class Strings {
 public:
  int of(const std::string& s) {
    const auto [at, fresh] = numbers_.try_emplace(s, static_cast<int>(all_.size()));
    if (fresh) all_.push_back(s);
    return at->second;
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::map<std::string, int> numbers_;
  std::vector<std::string> all_;
};

// Times are microseconds since the recording began.
struct Span {
  double start = 0, duration = 0;
  int thread = 0;  // index into Trace::threads
  int depth = 0;   // spans of the same thread around it
  int name = 0, category = 0;
  int row = -1;    // a flush: index into Trace::flushes; a kernel's: into Trace::kernels
  int flush = -1;  // of a kernel's launch: the flush around it
};

struct Flush {
  double start = 0, duration = 0, compiling = 0, loading = 0, in_kernels = 0;
  int thread = 0, cause = 0, at = 0;
  int miss = -1;  // why the program wasn't in the cache
  int64_t program = 0, ops = 0, kernels = 0, outputs = 0;
  bool hit = false;
  bool failed = false;  // `miss` is the error
};

/// Sums up all launches of kernels with one name, line, purpose and number of ops.
struct Kernel {
  int name = 0, at = -1;
  int purpose = -1;                          // why the library made it: "conv2d: weights to channels last"
  int64_t ops = 0, launches = 0, parts = 0;  // parts: the most that a launch was cut into
  double total = 0, longest = 0, bytes = 0, flops = 0;
  bool in_tile_group = false;
};

/// Describes one rank's part of an exchange of ranks.
struct Exchange {
  double start = 0, duration = 0;
  double waited = 0;  // of the duration, until `awaited` came
  int rank = 0;       // index into Trace::ranks
  int awaited = -1;   // the rank that came last; its own: it waited for none; -1: the trace is of one rank
  int thread = 0, kind = 0, at = 0;
  int64_t number = 0;               // common to all parts of an exchange
  int64_t elements = 0, bytes = 0;  // of the rank
};

struct GuardFailure {
  double at = 0;
  int kind = 0, text = 0;
  int64_t was = 0, now = 0, program = 0;
};

struct Sample {
  double at = 0, value = 0;
};

/// Describes the memory of one process over time, in bytes.
struct Memory {
  std::vector<Sample> total;
  std::map<int, std::vector<Sample>> held;  // by the holder's name (support/holdings.hpp)
};

struct Trace {
  Strings strings;
  std::vector<std::string> threads;
  std::vector<int64_t> processes;  // by thread; in a trace that lazy-launch joined: its rank
  std::vector<Span> spans;         // by thread, start, depth
  std::vector<Span> waits;         // from a component's first op to its flush; may overlap
  std::vector<Flush> flushes;
  std::vector<Exchange> exchanges;  // by rank and start
  std::vector<std::string> ranks;   // that exchanged; of a trace of one rank: one, with no name
  std::vector<Kernel> kernels;
  std::vector<GuardFailure> guards;
  Memory memory;                                         // of the process that had the most
  std::string memory_of;                                 // its name: "rank 2"; empty: there is one process
  std::vector<std::pair<int64_t, double>> memory_peaks;  // of each rank
  std::map<int64_t, Memory> memories;                    // while it is read: by process
  std::vector<nlohmann::json> programs;
  std::map<std::string, std::pair<int64_t, double>> phases;  // of flushes and compiles: number and time
  nlohmann::json machine;                                    // null: not in the trace
  bool of_ranks = false;  // of several processes, a rank each, as lazy-launch joins them
  double duration = 0;
  int64_t events = 0;
};

/// Reads a trace. Throws BadTrace if it is none of LAZY_PROFILE, std::runtime_error if it can't be read.
Trace read_trace(const std::string& path);

}  // namespace report
