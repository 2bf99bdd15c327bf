// Caches programs in memory, by key, and decides which of them runs, or why none does.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "cache/lru.hpp"
#include "jit/flush/flush.hpp"
#include "jit/flush/liveness.hpp"
#include "support/lock.hpp"

namespace lazy::jit {

using ProgramRef = std::shared_ptr<const Program>;
using ProgramList = std::vector<ProgramRef>;  // most recently used first

/// Holds the programs of one key. Readers copy the list; compiles of one key take turns.
class ProgramEntry {
 public:
  explicit ProgramEntry(std::vector<uint32_t> k) : key(std::move(k)) {}

  std::shared_ptr<const ProgramList> programs() {
    const Hold hold(lock_);
    if (!hold.intact()) forget();
    return list_;
  }
  /// Returns a number that changes with the list.
  uint32_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  void put_first(const ProgramRef& p) {
    auto list = std::make_shared<ProgramList>();
    list->push_back(p);
    const Hold hold(lock_);
    if (!hold.intact()) forget();
    for (const ProgramRef& q : *list_)
      if (q != p) list->push_back(q);
    list_ = std::move(list);
    version_.fetch_add(1, std::memory_order_release);
  }

  const std::vector<uint32_t> key;
  Liveness liveness;  // observes the key's outputs, if there are several
  Mutex compiling;
  bool looked_on_disk = false;  // guarded by `compiling`
  bool warned = false;

 private:
  /// Drops the list in a forked child if a thread of its parent was changing it.
  void forget() { std::construct_at(&list_, std::make_shared<ProgramList>()); }

  SpinLock lock_;
  std::atomic<uint32_t> version_{0};
  std::shared_ptr<const ProgramList> list_ = std::make_shared<ProgramList>();
};

/// Returns the cache of programs.
cache::LruCache<ProgramEntry>& program_entries();

/// Returns the entry of the captured graph's key, a new one if there is none. `when` as LruCache::find() sets
/// it.
std::shared_ptr<ProgramEntry> programs_of(const CapturedGraph&, cache::LruCache<ProgramEntry>::Moment& when);

struct Found;
/// Finds a program whose guards hold: in the cache, on disk, or compiled. `entry` is that of the key, if it
/// was looked up already, at the moment Found::when. `timed`: the report gets time stamps.
void look_up(Found&, std::shared_ptr<ProgramEntry> entry, const CapturedGraph&, Backend&, FlushReport*,
             const Site&, bool timed);

}  // namespace lazy::jit
