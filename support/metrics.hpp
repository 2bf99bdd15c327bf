// Counts what the library did. Counting costs a load and a store of the thread's own memory; a snapshot adds
// all threads up. The counters are the rows of LAZY_COUNTERS.
//
//   metric::add(Counter::nodes_recorded);      lazy::metrics().nodes_recorded
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>

namespace lazy {

#define LAZY_COUNTERS(X)                                                          \
  X(nodes_recorded, "ops recorded")                                               \
  X(flushes, "pending graphs run")                                                \
  X(replays, "calls that ran again what an earlier one recorded")                 \
  X(program_hits, "flushes that found their program")                             \
  X(program_misses, "flushes that had to compile")                                \
  X(guard_failures, "guards that turned a cached program down")                   \
  X(kernels_compiled, "kernels built")                                            \
  X(kernel_hits, "kernels found in memory")                                       \
  X(kernels_loaded, "kernels loaded from disk")                                   \
  X(disk_hits, "keys whose programs were found on disk")                          \
  X(disk_misses, "keys looked for on disk in vain")                               \
  X(disk_writes, "programs kept on disk")                                         \
  X(compile_ns, "nanoseconds spent compiling")                                    \
  X(launches, "kernels run")                                                      \
  X(tile_groups, "runs of kernels that went block by block")                      \
  X(bytes_to_device, "bytes copied from the host to a GPU")                       \
  X(bytes_from_device, "bytes copied from a GPU to the host")                     \
  X(graph_launches, "programs launched as one CUDA graph")                        \
  X(results_reused, "results of inputs that stay that were there already")        \
  X(results_kept, "results kept beside inputs that stay")                         \
  X(results_evicted, "of these, dropped to keep the limit")                       \
  X(bytes_donated, "bytes of inputs reused for outputs")                          \
  X(values_dropped, "values with handles that were not stored")                   \
  X(bytes_dropped, "their bytes")                                                 \
  X(late_values, "of these, needed after all")                                    \
  X(calls, "calls run")                                                           \
  X(call_fallbacks, "calls recorded as ordinary ops, for the device has none")    \
  X(calls_folded, "calls folded into the weights of the one before")              \
  X(call_host_transfers, "calls of a device run on the host")                     \
  X(fallbacks, "kernels that the backend left to the reference one")              \
  X(collectives, "exchanges with other ranks")                                    \
  X(collective_bytes, "bytes sent to other ranks")                                \
  X(collective_wait_ns, "nanoseconds that a program stood still for other ranks") \
  X(programs_evicted, "cache entries dropped to keep the limits")                 \
  X(verify_runs, "programs run again by LAZY_VERIFY")                             \
  X(verify_failures, "programs that LAZY_VERIFY found wrong")

/// Holds a snapshot, which is not of one instant: threads go on counting while it is taken.
struct Metrics {
  static constexpr size_t kKinds = 16;
#define LAZY_ROW(name, doc) uint64_t name = 0;
  LAZY_COUNTERS(LAZY_ROW)
#undef LAZY_ROW
  uint64_t bytes_live = 0;  // bytes of values allocated now
  uint64_t bytes_peak = 0;  // their highest since the start or reset_metrics()
  uint64_t bytes_kept = 0;  // bytes of results kept now for later runs (LAZY_KEEP_MB)
  std::array<uint64_t, kKinds> flushes_by_cause{};
  std::array<uint64_t, kKinds> guard_failures_by_kind{};
};

enum class MetricCounter : uint8_t {
#define LAZY_ROW(name, doc) name,
  LAZY_COUNTERS(LAZY_ROW)
#undef LAZY_ROW
};

/// Returns the counts since the start or the last reset.
Metrics metrics();
/// Starts all counters at zero again; bytes_live stays, bytes_peak becomes it.
void reset_metrics();
/// Returns a readable table; causes and kinds appear only where they are not zero.
std::string to_string(const Metrics&);
std::ostream& operator<<(std::ostream&, const Metrics&);

namespace metric {

inline constexpr size_t kCounters = 0
#define LAZY_ROW(name, doc) +1
    LAZY_COUNTERS(LAZY_ROW)
#undef LAZY_ROW
    ;
inline constexpr size_t kSlots = kCounters + 2 * Metrics::kKinds;

/// Holds one thread's counts. Only the owner writes, so a plain load and store lose nothing.
struct alignas(64) Shard {
  std::atomic<uint64_t> slot[kSlots]{};
};

namespace detail {
inline constinit thread_local Shard* shard = nullptr;
void add_slowly(size_t slot, uint64_t n) noexcept;
inline void add(size_t slot, uint64_t n) noexcept {
  Shard* const s = shard;
  if (!s) [[unlikely]]
    return add_slowly(slot, n);
  auto& c = s->slot[slot];
  c.store(c.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}
}  // namespace detail

inline void add(MetricCounter c, uint64_t n = 1) noexcept { detail::add(static_cast<size_t>(c), n); }
/// Counts a flush, and its cause (numbers past the last slot count there).
void flushed(size_t cause) noexcept;
void guard_failed(size_t kind) noexcept;
/// Counts memory allocated for values, and freed: bytes_live and bytes_peak.
void allocated(uint64_t bytes) noexcept;
void freed(uint64_t bytes) noexcept;
/// Returns bytes_live, cheaply.
uint64_t live() noexcept;
/// Says how many bytes of results are kept now: bytes_kept.
void kept(uint64_t bytes) noexcept;

/// Says that the thread compiles as long as it lives: others that wait for this process have patience then.
class Compiling {
 public:
  Compiling() noexcept;
  Compiling(const Compiling&) = delete;
  ~Compiling();
};
/// Returns how many threads compile now.
int compiling() noexcept;

/// Sets names for the two tables (at most Metrics::kKinds are used). The texts must live as long as the
/// process.
void name_causes(std::span<const char* const>) noexcept;
void name_guards(std::span<const char* const>) noexcept;

}  // namespace metric
}  // namespace lazy
