// Reports a flush to people; collected only while someone listens.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jit/graph/cause.hpp"
#include "support/site.hpp"

namespace lazy::jit {

struct CapturedGraph;

struct FlushReport {
  Cause cause{};
  bool replay = false;       // the first run of what a replay recorded, which has no cause
  Site site{};               // line that needed a value
  const char* function{};    // what needed a count, if that was it; else null. A literal
  Site recorded{};           // of other_thread: the line where another thread recorded what is needed
  uint64_t ops = 0;          // recorded ops in the flush
  uint64_t outputs = 0;      // values that the flush stores
  uint64_t kernels = 0;      // launches of the program
  uint64_t tile_groups = 0;  // tile groups, whose kernels may run block by block
  uint64_t fused_ops = 0;    // elementwise ops inside kernels
  bool hit = false;          // the program was in the cache, in memory or on disk
  std::string variant;       // generic, strict, fixed
  std::string miss;  // why it missed: the failed guard with both values, or how the nearest key differs
  uint64_t compile_ns = 0;
  uint64_t load_ns = 0;  // nanoseconds, of a program that came from disk
  uint64_t total_ns = 0;
  uint64_t looked_up = 0, checked = 0;    // time stamps of support/profile.hpp: key looked up, guards checked
  std::vector<std::string> rewritten;     // "conv2d + batch_norm -> conv2d, 20 times"
  std::vector<std::string> kernel_texts;  // name and fused ops of each kernel
};
std::string describe(const FlushReport&);

/// Collects the calling thread's flushes in a scope. They nest; the innermost gets the reports.
class FlushListener {
 public:
  FlushListener();
  ~FlushListener();
  FlushListener(const FlushListener&) = delete;
  FlushListener& operator=(const FlushListener&) = delete;
  std::vector<FlushReport> flushes;
  static FlushListener* current();

 private:
  FlushListener* outer_;
};

/// Writes one line per value of a key: "v3 = add float32 [n, 1] v0, v2".
std::vector<std::string> describe_key(std::span<const uint32_t> key);

/// Explains how a captured graph's key differs from the nearest of others: the one with the most leading
/// values in common, then the nearest length.
class NearestKey {
 public:
  explicit NearestKey(const CapturedGraph& f) : captured_(f) {}
  void offer(const std::vector<uint32_t>& key);
  /// Returns the first differing value, the other key's and ours, with the user's line.
  std::string difference() const;

 private:
  const CapturedGraph& captured_;
  std::vector<uint32_t> nearest_;
  size_t common_ = 0, gap_ = 0;
};

}  // namespace lazy::jit
