#include "jit/flush/found_programs.hpp"

#include <algorithm>
#include <new>

#include "support/metrics.hpp"
#include "support/per_thread.hpp"

namespace lazy::jit {
namespace {

/// Adds what a flush reads that finds this again.
void add_lines(const Found& f, Lines& lines) {
  const Program& p = *f.program;
  lines.add(&f, sizeof f);
  lines.add(f.entry.get(), sizeof *f.entry);
  lines.add_entries(f.entry->key);
  lines.add(&p, sizeof p);
  f.arguments->add_lines(lines);
  lines.add_entries(p.slots);
  lines.add_entries(p.results);
  constexpr size_t kSteps = 2;  // what later ones read is on its way while the first run
  for (size_t i = 0; i < std::min(p.steps.size(), kSteps); ++i) {
    const Step& s = p.steps[i];
    lines.add(&s, sizeof s);
    lines.add_entries(s.made);
    if (s.kernel) s.kernel->add_lines(lines);
  }
}

/// Holds what one thread found, in a hash table that grows as long as other programs are in the way.
class FoundByThread {
 public:
  /// Returns what is kept for a key; null if nothing is. Only the key's place is compared.
  Found* find(uint64_t place) const noexcept {
    for (size_t i = place & mask_, probes = 0; probes < kProbes; ++probes, i = (i + 1) & mask_)
      if (tags_[i] == tag_of(place) && slots_[i].place == place) return &slots_[i];
    return nullptr;
  }
  /// Returns where to keep what was found for a key; null if there is no room.
  Found* room(uint64_t place) noexcept {
    if (Found* const known = find(place)) return known;
    for (;;) {
      size_t at = place & mask_;
      for (size_t i = at, probes = 0; probes < kProbes; ++probes, i = (i + 1) & mask_) {
        if (tags_[i] != 0) continue;
        tags_[i] = tag_of(place);
        return &slots_[i];
      }
      if (!grow()) {
        at = (at + replaced_++ % kProbes) & mask_;
        if (slots_[at].in_use) return nullptr;
        tags_[at] = tag_of(place);
        return &slots_[at];
      }
    }
  }
  void put(Found& to, Found& from) noexcept {
    to.take(from);
    if (many() && to.arguments) add_lines(to, to.lines);
  }
  /// Notes that `f` is found now. Prefetches the one that will be next if the order is as before.
  void note(Found* f) noexcept {
    if (!many()) return;
    if (latest_) latest_->after = f;
    latest_ = f;
    const Found* const next = f->after;
    if (!next || next == f) return;
    next->lines.prefetch();
    Lines of_next;  // so that its list of lines is there in time
    of_next.add(next->after, sizeof(Found));
    of_next.prefetch();
  }
  /// True if they don't stay in a cache of the processor.
  bool many() const noexcept { return mask_ >= kMany; }
  /// Lets go of those that the cache of programs has dropped.
  void sweep(uint64_t removals) noexcept {
    if (std::exchange(swept_, removals) == removals) return;
    clear([&](const Found& f) { return f.when.removals != removals; });
  }
  void clear() noexcept {
    clear([](const Found&) { return true; });
  }

 private:
  static constexpr size_t kProbes = 4, kFewest = 16, kMost = 1 << 15, kMany = 255;

  static uint32_t tag_of(uint64_t place) noexcept { return static_cast<uint32_t>(place >> 32) | 1; }

  template <class Which>
  void clear(Which&& which) noexcept {
    for (size_t i = 0; i <= mask_; ++i)
      if (tags_[i] != 0 && !slots_[i].in_use && which(slots_[i])) {
        slots_[i].clear();
        tags_[i] = 0;
      }
  }

  /// Makes the table twice as large. False if it must not be: then it is as it was.
  bool grow() noexcept {
    const size_t n = mask_ + 1;
    if (n == kMost || std::any_of(&slots_[0], &slots_[0] + n, [](const Found& f) { return f.in_use; }))
      return false;
    try {
      FoundByThread larger(2 * n);
      for (size_t i = 0; i < n; ++i)
        if (tags_[i] != 0)
          if (Found* const to = larger.room(slots_[i].place)) larger.put(*to, slots_[i]);
      std::swap(mask_, larger.mask_);
      std::swap(tags_, larger.tags_);
      std::swap(slots_, larger.slots_);
    } catch (const std::bad_alloc&) { return false; }
    latest_ = nullptr;
    return true;
  }

  explicit FoundByThread(size_t n)
      : mask_(n - 1), tags_(std::make_unique<uint32_t[]>(n)), slots_(std::make_unique<Found[]>(n)) {}

 public:
  FoundByThread() : FoundByThread(kFewest) {}

 private:
  size_t mask_;
  std::unique_ptr<uint32_t[]> tags_;  // 0: empty
  std::unique_ptr<Found[]> slots_;
  Found* latest_ = nullptr;
  uint64_t swept_ = 0;
  uint32_t replaced_ = 0;
};

/// Returns what the thread kept with this key's entry, if looking that up would find it again; else null.
Found* known_entry(const CapturedGraph& f) {
  FoundByThread* const all = PerThread<FoundByThread>::if_there();
  Found* const known = all ? all->find(f.place) : nullptr;
  if (!known || !program_entries().is_fresh(known->when) || known->entry->key != f.key) return nullptr;
  return known;
}

/// Returns what the thread kept for this key, if looking it up would find it again and its guards hold; else
/// null. Guards that held for the latest run hold again if `same` becomes true: all that they are about is as
/// it was.
Found* found_again(const CapturedGraph& f, bool& same) {
  Found* const known = known_entry(f);
  if (!known || known->in_use || known->entry->version() != known->version) return nullptr;
  PerThread<FoundByThread>::if_there()->note(known);
  same = known->arguments && known->arguments->as_before(f);
  int64_t actual = 0;
  if ((!same || known->guards_scalars) && failed_guard(*known->program, f, actual)) return nullptr;
  program_entries().count_hit();
  return known;
}

}  // namespace

std::unique_ptr<Arguments> arguments_kept(const CapturedGraph& f, const ProgramRef& p) noexcept {
  FoundByThread* const all = PerThread<FoundByThread>::if_there();
  Found* const known = all ? all->find(f.place) : nullptr;
  if (!known || known->program != p || known->in_use) return nullptr;
  return std::move(known->arguments);
}

void Found::clear() noexcept {
  if (arguments) program->arguments.put(std::move(arguments));
  program = nullptr;
  entry = nullptr;
  when = {};
  after = nullptr;
  if (!lines.empty()) lines = {};
}

void Found::take(Found& o) noexcept {
  clear();
  entry = std::move(o.entry);
  program = std::move(o.program);
  arguments = std::move(o.arguments);
  version = o.version;
  when = o.when;
  place = o.place;
  guards_scalars = std::any_of(program->guards.begin(), program->guards.end(),
                               [](const Guard& g) { return g.kind == Guard::Kind::scalar; });
}

std::shared_ptr<ProgramEntry> ProgramLease::entry_of(const CapturedGraph& f) {
  if (const Found* const known = known_entry(f)) return known->entry;
  return programs_of(f, looked_up_);
}

void ProgramLease::keep_own(const CapturedGraph& f) noexcept {
  FoundByThread* const all = PerThread<FoundByThread>::try_get();
  if (!all) return;
  all->sweep(own_.when.removals);
  Found* const to = all->room(f.place);
  if (!to || to->in_use) return;
  own_.place = f.place;
  all->put(*to, own_);
  all->note(to);
}

void forget_found() noexcept {
  if (FoundByThread* const all = PerThread<FoundByThread>::if_there()) all->clear();
}

void ProgramLease::find(std::shared_ptr<ProgramEntry> entry, const CapturedGraph& f, Backend& backend,
                        FlushReport* report, const Site& site, bool timed) {
  if (found_ != &own_) std::exchange(found_, &own_)->in_use = false;
  if (!report) {
    if (Found* const again = found_again(f, same_)) {
      metric::add(MetricCounter::program_hits);
      again->in_use = true;
      found_ = again;
      return;
    }
  }
  same_ = false;
  own_.clear();
  if (entry) own_.when = looked_up_;
  look_up(own_, std::move(entry), f, backend, report, site, timed);
}

}  // namespace lazy::jit
