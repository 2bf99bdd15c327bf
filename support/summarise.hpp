// Adds up what flushes and launches cost, by the line that asked, while somebody wants a summary
// (summary.hpp): LAZY_LOG=summary from the first flush to the end, Summarising in a scope.
#pragma once
#include <string>

#include "support/profile.hpp"
#include "support/site.hpp"
#include "support/summary.hpp"

namespace lazy {

/// Adds up what all threads flush from its construction on.
class Summarising {
 public:
  class Impl;
  Summarising();
  ~Summarising();
  Summarising(const Summarising&) = delete;
  /// Returns what was flushed so far.
  Summary summary() const;

 private:
  Impl* const impl_;
};

// Those who flush and launch tell of it.
namespace summarise {

/// True if somebody wants a summary; then profile::on() is true as well.
bool on() noexcept;

/// Names what flushes are added up by. `cause` is a literal.
struct Where {
  const char* cause = nullptr;
  Site site{};
};
/// The calling thread's launches from now on are of a flush at this line.
void runs(const Where&);

struct Flushed {
  profile::Ticks start, end;
  bool hit;                           // the program was in memory or on disk
  uint64_t load_ns, compile_ns, ops;  // nanoseconds of loading and compiling it
  const std::string& miss;            // why it compiled
};
/// A flush is done.
void flushed(const Where&, const Flushed&);

struct Launched {
  const char* name;  // of the kernel; never freed
  profile::Ticks ticks;
  double bytes, flops;  // that it moved and computed
  double least_ns;      // what the machine's limits allow at best; 0: not known
};
/// A kernel of the thread's flush has run.
void launched(const Launched&);

}  // namespace summarise
}  // namespace lazy
