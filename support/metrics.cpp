#include "support/metrics.hpp"

#include <algorithm>
#include <ostream>
#include <vector>

#include "support/alone.hpp"
#include "support/lock.hpp"
#include "support/per_thread.hpp"
#include "support/text.hpp"

namespace lazy {
namespace metric {
namespace {

constexpr size_t kCauses = kCounters, kGuards = kCounters + Metrics::kKinds;
using Sums = std::array<uint64_t, kSlots>;

struct Shards {
  std::vector<Shard*> live;
  Sums baseline{};  // sums at the last reset: a thread's counters can't be set back by another
};

constinit Mutex mutex;
constinit Shards* all_shards = nullptr;
/// Returns all threads' counts, never destroyed: threads may end after the static objects are gone.
Shards& shards(const Hold<Mutex>& hold) {
  if (!all_shards || !hold.intact()) all_shards = new Shards;
  return *all_shards;
}

constinit Shard retired;  // counts of ended threads, and of threads while they end
constinit std::atomic<uint64_t> live_bytes{0}, peak_bytes{0}, kept_bytes{0};
constinit std::atomic<int> compiling_threads{0};
constinit std::atomic<const char*> cause_names[Metrics::kKinds]{}, guard_names[Metrics::kKinds]{};

/// Holds a thread's counts, which are added to `retired` at its end.
struct OwnShard : Shard {
  OwnShard() {
    const Hold hold(mutex);
    Shards& all = shards(hold);
    all.live.push_back(this);
  }
  OwnShard(const OwnShard&) = delete;
  ~OwnShard() {
    detail::shard = nullptr;
    const Hold hold(mutex);
    Shards& all = shards(hold);
    for (size_t i = 0; i < kSlots; ++i)
      retired.slot[i].fetch_add(slot[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    std::erase(all.live, this);
  }
};

Sums totals(const Shards& all) {
  Sums sums;
  for (size_t i = 0; i < kSlots; ++i) {
    sums[i] = retired.slot[i].load(std::memory_order_relaxed);
    for (const Shard* s : all.live) sums[i] += s->slot[i].load(std::memory_order_relaxed);
  }
  return sums;
}

void set_names(std::atomic<const char*>* table, std::span<const char* const> names) noexcept {
  for (size_t i = 0; i < Metrics::kKinds; ++i)
    table[i].store(i < names.size() ? names[i] : nullptr, std::memory_order_release);
}

void list(std::string& out, const std::array<uint64_t, Metrics::kKinds>& counts,
          const std::atomic<const char*>* names) {
  for (size_t i = 0; i < counts.size(); ++i) {
    if (!counts[i]) continue;
    const char* name = names[i].load(std::memory_order_acquire);
    std::string label = "    ";
    label += name ? std::string(name) : std::string("#").append(std::to_string(i));
    label.resize(std::max<size_t>(label.size(), 20), ' ');
    std::string number = std::to_string(counts[i]);
    out += label + std::string(number.size() < 16 ? 16 - number.size() : 1, ' ') + number + "\n";
  }
}

}  // namespace

void detail::add_slowly(size_t slot, uint64_t n) noexcept {
  shard = PerThread<OwnShard>::try_get();
  if (shard) add(slot, n);
  else retired.slot[slot].fetch_add(n, std::memory_order_relaxed);  // no memory for this thread's counts
}

void flushed(size_t cause) noexcept {
  add(MetricCounter::flushes);
  detail::add(kCauses + std::min(cause, Metrics::kKinds - 1), 1);
}

void guard_failed(size_t kind) noexcept {
  add(MetricCounter::guard_failures);
  detail::add(kGuards + std::min(kind, Metrics::kKinds - 1), 1);
}

void allocated(uint64_t bytes) noexcept {
  const uint64_t now = fetch_add(live_bytes, bytes, std::memory_order_relaxed) + bytes;
  uint64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (peak < now && !compare_exchange(peak_bytes, peak, now, std::memory_order_relaxed)) {}
}

Compiling::Compiling() noexcept { compiling_threads.fetch_add(1, std::memory_order_relaxed); }
Compiling::~Compiling() { compiling_threads.fetch_sub(1, std::memory_order_relaxed); }
int compiling() noexcept { return compiling_threads.load(std::memory_order_relaxed); }

void kept(uint64_t bytes) noexcept { kept_bytes.store(bytes, std::memory_order_relaxed); }
uint64_t live() noexcept { return live_bytes.load(std::memory_order_relaxed); }
void freed(uint64_t bytes) noexcept { fetch_sub(live_bytes, bytes, std::memory_order_relaxed); }

void name_causes(std::span<const char* const> names) noexcept { set_names(cause_names, names); }
void name_guards(std::span<const char* const> names) noexcept { set_names(guard_names, names); }

}  // namespace metric

Metrics metrics() {
  using namespace metric;
  Sums sums;
  {
    const Hold hold(mutex);
    const Shards& all = shards(hold);
    sums = totals(all);
    for (size_t i = 0; i < kSlots; ++i) sums[i] -= all.baseline[i];
  }
  Metrics m;
#define LAZY_ROW(name, doc) m.name = sums[static_cast<size_t>(MetricCounter::name)];
  LAZY_COUNTERS(LAZY_ROW)
#undef LAZY_ROW
  m.bytes_live = live_bytes.load(std::memory_order_relaxed);
  m.bytes_peak = std::max(m.bytes_live, peak_bytes.load(std::memory_order_relaxed));
  m.bytes_kept = kept_bytes.load(std::memory_order_relaxed);
  std::copy_n(sums.begin() + kCauses, Metrics::kKinds, m.flushes_by_cause.begin());
  std::copy_n(sums.begin() + kGuards, Metrics::kKinds, m.guard_failures_by_kind.begin());
  return m;
}

void reset_metrics() {
  using namespace metric;
  const Hold hold(mutex);
  Shards& all = shards(hold);
  all.baseline = totals(all);
  peak_bytes.store(live_bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

std::string to_string(const Metrics& m) {
  std::string out;
  const auto row = [&out](std::string name, uint64_t value, const char* doc) {
    name.resize(std::max<size_t>(name.size(), 18), ' ');
    const std::string number = std::to_string(value);
    out += "  " + name + std::string(number.size() < 16 ? 16 - number.size() : 1, ' ') + number + "  " + doc +
           "\n";
  };
#define LAZY_ROW(name, doc)                                     \
  row(#name, m.name, doc);                                      \
  if (MetricCounter::name == MetricCounter::flushes)            \
    metric::list(out, m.flushes_by_cause, metric::cause_names); \
  if (MetricCounter::name == MetricCounter::guard_failures)     \
    metric::list(out, m.guard_failures_by_kind, metric::guard_names);
  LAZY_COUNTERS(LAZY_ROW)
#undef LAZY_ROW
  row("bytes_live", m.bytes_live,
      ("bytes of values allocated now, " + text::human_size(m.bytes_live)).c_str());
  row("bytes_peak", m.bytes_peak, ("the most there were, " + text::human_size(m.bytes_peak)).c_str());
  row("bytes_kept", m.bytes_kept,
      ("bytes of results kept for later runs, " + text::human_size(m.bytes_kept)).c_str());
  return out;
}

std::ostream& operator<<(std::ostream& os, const Metrics& m) { return os << to_string(m); }

}  // namespace lazy
