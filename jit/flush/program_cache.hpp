// Caches programs in memory, by key, and decides which of them runs, or why none does.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "cache/lru.hpp"
#include "jit/flush/flush.hpp"
#include "jit/flush/liveness.hpp"
#include "jit/run/arguments.hpp"
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

/// Holds a program that was found, and what a thread keeps with it for its next flush of the same key: that
/// one needs no look-up, and its run shares nothing with those of other threads.
struct Found {
  Found() = default;
  Found(const Found&) = delete;
  ~Found() { clear(); }
  /// Takes over what another holds.
  void take(Found&) noexcept;
  /// Gives the arguments back to the program and lets go of it.
  void clear() noexcept;

  std::shared_ptr<ProgramEntry> entry;  // null: not to be kept
  ProgramRef program;
  std::unique_ptr<Arguments> arguments;  // null: a run takes the program's
  uint32_t version = 0;                  // of the entry's list, whose first program it was
  bool in_use = false;                   // by a flush of this thread, which may cause another
  bool guards_scalars = false;           // guards are about more than what Arguments::as_before() compares
  cache::LruCache<ProgramEntry>::Moment when;
};

/// Refers to the program of one flush, and keeps it for the thread's next.
class ProgramLease {
 public:
  ProgramLease() = default;
  ProgramLease(const ProgramLease&) = delete;
  ~ProgramLease() {
    if (found_ != &own_) found_->in_use = false;
  }
  const Program& program() const { return *found_->program; }
  std::unique_ptr<Arguments>& arguments() { return found_->arguments; }
  /// True if the arguments' as_before() is known to be true.
  bool same() const { return same_; }
  /// Finds a program whose guards hold: from memory, from disk, or compiled. `entry` is that of the key, if
  /// it was looked up already; `site` is the line that needs the value. `timed`: the report gets time stamps.
  void find(std::shared_ptr<ProgramEntry> entry, const CapturedGraph&, Backend&, FlushReport*,
            const Site& site, bool timed);
  /// Keeps what was found for the thread's next flush of this key.
  void keep(const CapturedGraph& f) noexcept {
    if (found_ == &own_ && own_.entry) keep_own(f);
  }

 private:
  void keep_own(const CapturedGraph&) noexcept;
  Found own_;
  Found* found_ = &own_;  // or one that the thread keeps
  bool same_ = false;
};

/// Returns the entry of the captured graph's key, a new one if there is none.
std::shared_ptr<ProgramEntry> programs_of(const CapturedGraph&);

/// Forgets which programs the calling thread found last.
void forget_found() noexcept;

}  // namespace lazy::jit
