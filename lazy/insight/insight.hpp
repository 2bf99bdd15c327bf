// Reports what was recorded, compiled and run, and why.
//
//   lazy::metrics().kernels_compiled;  lazy::reset_metrics();  std::cout << lazy::metrics();
//   std::cout << lazy::explain([&] { y = step(x); y.eval(); });
//   std::cout << lazy::summary([&] { train(model); });
//   lazy::cache::stats().entries;  lazy::cache::clear();
//   lazy::profile::start("trace.json");  ...  lazy::profile::stop();      (support/profile.hpp; or
//   LAZY_PROFILE)
#pragma once
#include <concepts>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "jit/flush/no_flush.hpp"
#include "jit/key/report.hpp"
#include "support/metrics.hpp"
#include "support/profile.hpp"
#include "support/summarise.hpp"

namespace lazy {

/// Describes what the calling thread flushed while a function ran: cause and line of each flush, ops and
/// kernels, and why a program was compiled.
struct Explanation {
  std::vector<jit::FlushReport> flushes;
};
std::string to_string(const Explanation&);
std::ostream& operator<<(std::ostream&, const Explanation&);

/// Runs `f` and reports what was flushed meanwhile (pending work that `f` leaves behind is not flushed for
/// that).
template <class F>
Explanation explain(F&& f) {
  jit::FlushListener listener;
  std::forward<F>(f)();
  return {std::move(listener.flushes)};
}

/// Runs `f` and adds up what all threads flushed meanwhile, by the line that asked for a value: times, where
/// programs came from, the dearest kernel. Prints as lines, or as JSON (to_json()). Kernels are timed for it,
/// which costs some 0.1 us each.
///
///   std::cout << lazy::summary([&] { train(model); });
template <std::invocable F>
Summary summary(F&& f) {
  const Summarising all;
  std::forward<F>(f)();
  return all.summary();
}

/// Keeps the calling thread from running anything in a scope: where a value would be needed Error is thrown,
/// naming that line, and what is pending stays so. Limits (LAZY_MAX_GRAPH, LAZY_MAX_BYTES) and LAZY_EAGER
/// throw too.
///
///   { lazy::no_flush guard;  y = step(x); }   // proves that step only records
using no_flush = jit::NoFlush;

/// Frees memory that is cached for later values but has none now: to the system, and to the drivers of GPUs
/// (also the pinned memory for copies). Waits for GPUs. Returns the number of bytes. Any thread may call it
/// at any time; it is not needed where memory is short, for then the library does so by itself.
size_t release_memory();

namespace cache {

/// Counts the programs in memory: one entry a key.
struct ProgramStats {
  uint64_t entries = 0, bytes = 0, hits = 0, misses = 0, evictions = 0;
};
ProgramStats stats();

/// Describes one program in memory.
struct ProgramInfo {
  uint64_t runs = 0;    // in this process
  std::string variant;  // generic; strict, for any layout; fixed, for these sizes (LAZY_DYNAMIC=never)
  bool from_disk = false;
  uint64_t ops = 0, kernels = 0, guards = 0, code_bytes = 0, compile_ns = 0;
  std::vector<std::string> graph;  // its key, a line for each value: "v2 = add float32 [n] v0, v1 (kept)"
  std::vector<std::string> guard_texts;   // the conditions under which it serves
  std::vector<std::string> kernel_texts;  // "map_add_main.cpp_12: 3 ops, 2 operands"
};
/// Returns the programs in memory, those used last first.
std::vector<ProgramInfo> programs();
/// Returns a table of programs.
std::string to_string(const std::vector<ProgramInfo>&);

/// Loads what the cache on disk has for this machine and this build of the library, so that first flushes
/// don't wait for it. Returns the number of programs; 0 with LAZY_CACHE=off.
size_t warmup();
/// Forgets all programs and kernels in memory; tensors, running work and the cache on disk are not touched
/// (`lazy-cache clear` drops that).
void clear();
/// Limits the programs in memory, evicting the excess at once. The limits at start are LAZY_CACHE_ENTRIES and
/// LAZY_CACHE_SIZE.
void set_limits(size_t entries, size_t bytes);

}  // namespace cache
}  // namespace lazy
