// Looking inside: counters of what was recorded, compiled and run, and why.
//
//   lazy::metrics().kernels_compiled;  lazy::reset_metrics();  std::cout << lazy::metrics();
//   std::cout << lazy::explain([&] { y = step(x); y.eval(); });
//   lazy::cache::stats().entries;  lazy::cache::clear();
//   lazy::profile::start("trace.json");  ...  lazy::profile::stop();      (support/profile.hpp; or
//   LAZY_PROFILE)
#pragma once
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "jit/trace/report.hpp"
#include "support/metrics.hpp"
#include "support/profile.hpp"

namespace lazy {

/// What the calling thread's flushes were while a function ran: cause and line of each, ops and kernels, hit
/// or why not.
struct Explanation {
  std::vector<jit::FlushReport> flushes;
};
std::string to_string(const Explanation&);
std::ostream& operator<<(std::ostream&, const Explanation&);

/// Runs `f` and tells what was flushed meanwhile (pending work that `f` leaves behind is not flushed for
/// that).
template <class F>
Explanation explain(F&& f) {
  jit::FlushListener listener;
  std::forward<F>(f)();
  return {std::move(listener.flushes)};
}

namespace cache {

/// The programs held in memory: one entry a key.
struct ProgramStats {
  uint64_t entries = 0, bytes = 0, hits = 0, misses = 0, evictions = 0;
};
ProgramStats stats();
/// Forgets all programs and kernels; tensors and running work are not touched.
void clear();
/// Bounds the programs held in memory, evicting at once what is too much. LAZY_CACHE_ENTRIES and
/// LAZY_CACHE_SIZE at start.
void set_limits(size_t entries, size_t bytes);

}  // namespace cache
}  // namespace lazy
