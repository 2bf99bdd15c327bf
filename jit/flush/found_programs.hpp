// Keeps what a thread found in the cache of programs for its next flush of the same key: that one needs no
// look-up, and its run shares nothing with those of other threads. Programs that take turns by the thousand
// lie in memory, not in a cache: the lines of the one that will be next, if the order is as before, are
// fetched while this one runs.
#pragma once
#include <memory>
#include <vector>

#include "jit/flush/program_cache.hpp"
#include "jit/run/arguments.hpp"
#include "support/lines.hpp"

namespace lazy::jit {

/// Holds a program that was found, and what a thread keeps with it.
struct Found {
  Found() = default;
  Found(const Found&) = delete;
  ~Found() {
    if (program) clear();
  }
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
  uint64_t place = 0;      // CapturedGraph::place of the key
  Found* after = nullptr;  // what the thread found next after this one, last time
  Lines lines;             // what is read of it; empty until there are many
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
  /// Returns the entry of the captured graph's key, a new one if there is none.
  std::shared_ptr<ProgramEntry> entry_of(const CapturedGraph&);
  /// Finds a program whose guards hold: from memory, from disk, or compiled. `entry` is what entry_of()
  /// returned for this key, or null; `site` is the line that needs the value. `timed`: the report gets time
  /// stamps.
  void find(std::shared_ptr<ProgramEntry> entry, const CapturedGraph&, Backend&, FlushReport*,
            const Site& site, bool timed);
  /// Keeps what was found for the thread's next flush of this key.
  void keep(const CapturedGraph& f) noexcept {
    if (found_ == &own_ && own_.entry) keep_own(f);
  }

 private:
  void keep_own(const CapturedGraph&) noexcept;
  Found own_;
  cache::LruCache<ProgramEntry>::Moment looked_up_;  // by entry_of()
  Found* found_ = &own_;                             // or one that the thread keeps
  bool same_ = false;
};

/// Takes the arguments of this program that the calling thread keeps for the captured graph's key; null if it
/// has none.
std::unique_ptr<Arguments> arguments_kept(const CapturedGraph&, const ProgramRef&) noexcept;

/// Forgets which programs the calling thread found last.
void forget_found() noexcept;

}  // namespace lazy::jit
