#include "jit/observe/summarise.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>

#include "jit/backend/backend.hpp"
#include "jit/observe/summary_events.hpp"
#include "support/lock.hpp"
#include "support/log.hpp"

namespace lazy::jit {
namespace {

using Clock = std::chrono::steady_clock;
using Where = std::tuple<std::string_view, uint32_t, Cause>;  // file, line

struct KernelCost {
  uint64_t launches = 0;
  profile::Ticks ticks = 0;
  double bytes = 0, flops = 0;
  double least_ns = 0;
};
/// Counts in ticks what SummaryRow has in milliseconds.
struct Row {
  Site site;
  uint64_t flushes = 0, hits = 0, loaded = 0, compiled = 0;
  profile::Ticks in = 0, after = 0;
  uint64_t compile_ns = 0;
  uint64_t fewest = ~uint64_t{0}, most = 0;
  std::map<const char*, KernelCost> kernels;
  std::string miss;
};

}  // namespace

class Summarising::Impl {
 public:
  std::map<Where, Row> rows;
  size_t hints_before = logging::hints().size();
  profile::Ticks start = profile::now();
  profile::Ticks since = start;  // flushes that began earlier don't count
  Clock::time_point began = Clock::now();

  Summary summary() const {
    const std::chrono::duration<double, std::milli> wall = Clock::now() - began;
    const double ms = wall.count() / static_cast<double>(std::max<profile::Ticks>(profile::now() - start, 1));
    Summary s;
    s.wall_ms = wall.count();
    s.hints = logging::hints();
    s.hints.erase(s.hints.begin(), s.hints.begin() + static_cast<std::ptrdiff_t>(hints_before));
    for (const auto& [where, r] : rows) {
      if (r.flushes == 0) continue;
      SummaryRow& row = s.rows.emplace_back();
      row.cause = name_of(std::get<Cause>(where));
      row.at = r.site.line() ? lazy::to_string(r.site) : "an unknown line";
      row.flushes = r.flushes, row.hits = r.hits, row.loaded = r.loaded, row.compiled = r.compiled;
      row.flush_ms = static_cast<double>(r.in) * ms;
      row.after_ms = static_cast<double>(r.after) * ms;
      row.compile_ms = static_cast<double>(r.compile_ns) / 1e6;
      row.fewest_ops = r.fewest, row.most_ops = r.most;
      row.miss = r.miss;
      for (const auto& [name, k] : r.kernels)
        row.kernels.push_back(
            {name, k.launches, static_cast<double>(k.ticks) * ms, k.bytes, k.flops, k.least_ns / 1e6});
    }
    sort(s);
    return s;
  }

  static Where where(Cause c, const Site& s) { return {s.file_name(), s.line(), c}; }
};

namespace {

using Impl = Summarising::Impl;

constinit Mutex mutex;
constinit std::atomic<int> wanted{0};
using All = std::vector<Impl*>;
constinit All* all_of_them = nullptr;  // never destroyed: tensors may outlive static destruction
All& all(const Hold<Mutex>& hold) {
  if (!all_of_them || !hold.intact()) all_of_them = new All;
  return *all_of_them;
}

void add(Impl& i) {
  {
    const Hold hold(mutex);
    all(hold).push_back(&i);
  }
  wanted.fetch_add(1, std::memory_order_relaxed);
}

/// Holds what the calling thread runs, and when its latest flush ended.
struct OfThread {
  Cause cause{};
  Site site{};
  const Backend* backend = nullptr;
  bool flushed = false;
  profile::Ticks end = 0;
};
thread_local constinit OfThread mine;

/// Summarises the whole process, once LAZY_LOG has the channel: printed when it ends.
bool of_process() noexcept {
  if (!logging::enabled(logging::Channel::summary)) return false;
  static constinit std::atomic<Impl*> impl{nullptr};
  if (impl.load(std::memory_order_acquire)) return true;
  try {
    auto* const made = new Impl;
    made->since = 0;  // the flush under way is the first
    Impl* none = nullptr;
    if (!impl.compare_exchange_strong(none, made, std::memory_order_acq_rel)) {
      delete made;
      return true;
    }
    add(*made);
    std::atexit([] {
      try {
        const Impl* const i = impl.load(std::memory_order_acquire);
        std::string text;
        {
          const Hold hold(mutex);
          text = to_string(i->summary());
        }
        logging::write(logging::Channel::summary, text);
      } catch (...) {}
    });
  } catch (...) { return false; }
  return true;
}

}  // namespace

Summarising::Summarising() : impl_(new Impl) {
  add(*impl_);
  profile::watch();
}
Summarising::~Summarising() {
  profile::unwatch();
  wanted.fetch_sub(1, std::memory_order_relaxed);
  {
    const Hold hold(mutex);
    std::erase(all(hold), impl_);
  }
  delete impl_;
}
Summary Summarising::summary() const {
  const Hold hold(mutex);
  return impl_->summary();
}

bool summary::on() noexcept { return of_process() || wanted.load(std::memory_order_relaxed) > 0; }

void summary::runs(Cause cause, const Site& site, const Backend& backend) {
  mine.cause = cause, mine.site = site, mine.backend = &backend;
}

void summary::flushed(profile::Ticks start, profile::Ticks end, const FlushReport& report, uint64_t ops) {
  const Hold hold(mutex);
  for (Impl* const i : all(hold)) {
    if (mine.flushed && mine.end >= i->since && start > mine.end)
      if (const auto before = i->rows.find(Impl::where(mine.cause, mine.site)); before != i->rows.end())
        before->second.after += start - mine.end;
    if (start < i->since) continue;
    Row& r = i->rows[Impl::where(report.cause, report.site)];
    r.site = report.site;
    ++r.flushes;
    if (report.load_ns) ++r.loaded;
    else if (report.hit) ++r.hits;
    else ++r.compiled, r.miss = report.miss;
    r.in += end - start;
    r.compile_ns += report.hit ? report.load_ns : report.compile_ns;
    r.fewest = std::min(r.fewest, ops), r.most = std::max(r.most, ops);
  }
  mine.cause = report.cause, mine.site = report.site;
  mine.flushed = true;
  mine.end = end;
}

void summary::launched(const char* name, profile::Ticks ticks, const Amount& a, uint32_t parts) {
  const double least = mine.backend ? mine.backend->least_ns(a.bytes, a.flops, parts) : 0;
  const Hold hold(mutex);
  for (Impl* const i : all(hold)) {
    Row& row = i->rows[Impl::where(mine.cause, mine.site)];
    row.site = mine.site;
    KernelCost& k = row.kernels[name];
    ++k.launches;
    k.ticks += ticks;
    k.bytes += a.bytes, k.flops += a.flops;
    k.least_ns += least;
  }
}

}  // namespace lazy::jit
