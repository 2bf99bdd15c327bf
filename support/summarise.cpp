#include "support/summarise.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>

#include "support/lock.hpp"
#include "support/log.hpp"
#include "support/log_fields.hpp"

namespace lazy {
namespace summarise {

using Clock = std::chrono::steady_clock;
using Key = std::tuple<std::string_view, uint32_t, std::string_view>;  // file, line, cause

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

}  // namespace summarise

class Summarising::Impl {
  using Key = summarise::Key;
  using Row = summarise::Row;
  using Clock = summarise::Clock;

 public:
  std::map<Key, Row> rows;
  size_t hints_before = logging::hints().size();
  profile::Ticks start = profile::now();
  profile::Ticks since = start;     // flushes that began earlier don't count
  profile::Ticks earliest = start;  // when the first of those that count began: LAZY_LOG has it under way
  Clock::time_point began = Clock::now();

  Summary summary() const {
    const std::chrono::duration<double, std::milli> wall = Clock::now() - began;
    const double ms = wall.count() / static_cast<double>(std::max<profile::Ticks>(profile::now() - start, 1));
    Summary s;
    s.wall_ms = wall.count() + static_cast<double>(start - earliest) * ms;
    s.hints = logging::hints();
    s.hints.erase(s.hints.begin(), s.hints.begin() + static_cast<std::ptrdiff_t>(hints_before));
    for (const auto& [where, r] : rows) {
      if (r.flushes == 0) continue;
      SummaryRow& row = s.rows.emplace_back();
      row.cause = std::get<2>(where);
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

  static Key key(const summarise::Where& w) {
    return {w.site.file_name(), w.site.line(), w.cause ? w.cause : ""};
  }
};

namespace {

using Impl = Summarising::Impl;

constinit Mutex all_lock;
constinit std::atomic<int> wanted{0};
using All = std::vector<Impl*>;
constinit All* all_of_them = nullptr;  // never destroyed: tensors may outlive static destruction
All& all(const Hold<Mutex>& hold) {
  if (!all_of_them || !hold.intact()) all_of_them = new All;
  return *all_of_them;
}

void add(Impl& i) {
  {
    const Hold hold(all_lock);
    all(hold).push_back(&i);
  }
  wanted.fetch_add(1, std::memory_order_relaxed);
}

/// Holds what the calling thread runs, and when its latest flush ended.
struct OfThread {
  summarise::Where where;
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
        Summary s;
        {
          const Hold hold(all_lock);
          s = i->summary();
        }
        std::string json = to_json(s);
        json.pop_back();  // a new line
        logging::write(logging::Channel::summary, to_string(s), logging::Fields().add_json("summary", json));
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
    const Hold hold(all_lock);
    std::erase(all(hold), impl_);
  }
  delete impl_;
}
Summary Summarising::summary() const {
  const Hold hold(all_lock);
  return impl_->summary();
}

bool summarise::on() noexcept { return of_process() || wanted.load(std::memory_order_relaxed) > 0; }

void summarise::runs(const Where& w) { mine.where = w; }

void summarise::flushed(const Where& w, const Flushed& f) {
  const Hold hold(all_lock);
  for (Impl* const i : all(hold)) {
    if (mine.flushed && mine.end >= i->since && f.start > mine.end)
      if (const auto before = i->rows.find(Impl::key(mine.where)); before != i->rows.end())
        before->second.after += f.start - mine.end;
    if (f.start < i->since) continue;
    i->earliest = std::min(i->earliest, f.start);
    Row& r = i->rows[Impl::key(w)];
    r.site = w.site;
    ++r.flushes;
    if (f.load_ns) ++r.loaded, r.miss = f.miss;
    else if (f.hit) ++r.hits;
    else ++r.compiled, r.miss = f.miss;
    r.in += f.end - f.start;
    r.compile_ns += f.hit ? f.load_ns : f.compile_ns;
    r.fewest = std::min(r.fewest, f.ops), r.most = std::max(r.most, f.ops);
  }
  mine.where = w;
  mine.flushed = true;
  mine.end = f.end;
}

void summarise::launched(const Launched& l) {
  const Hold hold(all_lock);
  for (Impl* const i : all(hold)) {
    Row& row = i->rows[Impl::key(mine.where)];
    row.site = mine.where.site;
    KernelCost& k = row.kernels[l.name];
    ++k.launches;
    k.ticks += l.ticks;
    k.bytes += l.bytes, k.flops += l.flops;
    k.least_ns += l.least_ns;
  }
}

}  // namespace lazy
