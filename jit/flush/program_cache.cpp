#include "jit/flush/program_cache.hpp"

#include <algorithm>
#include <chrono>

#include "cache/process_store.hpp"
#include "jit/backend/registry.hpp"
#include "jit/compile/disk.hpp"
#include "jit/compile/kernels.hpp"
#include "jit/compile/profile_program.hpp"
#include "jit/flush/found_programs.hpp"
#include "jit/flush/late_values.hpp"
#include "jit/flush/recompiles.hpp"
#include "jit/key/report.hpp"
#include "jit/observe/profile.hpp"
#include "support/config.hpp"
#include "support/log.hpp"
#include "support/log_fields.hpp"
#include "support/metrics.hpp"

namespace lazy::jit {
namespace {

constinit Once<cache::LruCache<ProgramEntry>> cached_entries;

}  // namespace

cache::LruCache<ProgramEntry>& program_entries() {
  return cached_entries.get([] {
    static const char* guards[kGuardKinds];
    for (int i = 0; i < kGuardKinds; ++i) guards[i] = name_of(static_cast<Guard::Kind>(i));
    metric::name_causes(kCauses);
    metric::name_guards(guards);
    const auto& c = config::get();
    return cache::LruCache<ProgramEntry>(static_cast<size_t>(c.cache_entries.get()), c.cache_size,
                                         MetricCounter::programs_evicted);
  });
}

namespace {

cache::KeyView view_of(const std::vector<uint32_t>& key) {
  return {key.data(), key.size() * sizeof(uint32_t)};
}

size_t weight_of(const std::vector<uint32_t>& key, const ProgramList& list) {
  size_t bytes = key.size() * sizeof(uint32_t) * 2;
  for (const ProgramRef& p : list) bytes += 512 + p->steps.size() * sizeof(Step) + p->code_bytes;
  return bytes;
}

// Returns text such as " (v3 was made at main.cpp:12; it is [100, 8] with strides [1, 100])", for a guard
// that goes by how it lies.
std::string made_at(const CapturedGraph& f, uint32_t value, Guard::Kind kind) {
  const Node& n = *f.values[value];
  if (!n.site.line()) return "";
  std::string s = " (v" + std::to_string(value) + " was made at " + lazy::to_string(n.site);
  const bool by_layout =
      kind != Guard::Kind::extent && kind != Guard::Kind::scalar && kind != Guard::Kind::position;
  if (n.ready() && (by_layout || !n.contiguous))
    s += "; it is " + to_string(n.shape) +
         (n.contiguous ? std::string(", row-major without gaps")
                       : " with strides " + to_string(n.strides.get()));
  return s + ")";
}

// Returns the first program whose guards hold. If there is none, `why` says why the most recently used one's
// failed.
ProgramRef first_that_holds(ProgramEntry& e, const CapturedGraph& f, std::string* why) {
  const auto list = e.programs();
  for (const ProgramRef& p : *list) {
    int64_t actual = 0;
    const Guard* g = failed_guard(*p, f, actual);
    if (!g) {
      if (p != list->front()) e.put_first(p);
      return p;
    }
    metric::guard_failed(static_cast<size_t>(g->kind));
    if (profile::on()) event::guard(*g, actual, *p);
    if (logging::enabled(logging::Channel::guards))
      logging::write(logging::Channel::guards,
                     p->variant + " program turned down: " + describe(*g, actual) +
                         made_at(f, subject_of(*g, *p), g->kind),
                     logging::Fields()
                         .at(f.values[subject_of(*g, *p)]->site)
                         .add("guard", name_of(g->kind))
                         .add("was", g->value)
                         .add("now", actual)
                         .add("variant", p->variant));
    if (why && why->empty()) {
      *why = "guard " + describe(*g, actual) + made_at(f, subject_of(*g, *p), g->kind);
      if (p->variant == name_of(Variant::fixed)) *why += "; LAZY_DYNAMIC=never compiles for each size";
    }
  }
  return nullptr;
}

// True if checking takes less time than a time stamp, as for a few guards: it then counts as part of the
// look-up.
bool quickly_checked(const Program& p, const std::string& why_not_another) {
  constexpr size_t kFew = 8;
  return p.guards.size() <= kFew && why_not_another.empty();
}

Variant next_variant(ProgramEntry& e, const CapturedGraph& f, size_t programs) {
  const auto limit = static_cast<size_t>(config::get().recompile_limit.get());
  if (programs + 1 >= limit && programs > 0) {
    if (!std::exchange(e.warned, true))
      logging::warning("a graph needed " + std::to_string(programs + 1) + " programs (LAZY_RECOMPILE_LIMIT=" +
                       std::to_string(limit) + "): from now on its most general one runs");
    return Variant::strict;
  }
  return f.fixes_arguments() ? Variant::fixed : Variant::generic;
}

// A miss is explained by the nearest of this many latest keys: it must not take longer the more there are.
constexpr size_t kKeysCompared = 256;

std::string nearest_difference(const CapturedGraph& f, const ProgramEntry& own) {
  NearestKey nearest(f);
  program_entries().for_each(
      [&](const cache::Key&, const std::shared_ptr<ProgramEntry>& e) {
        if (e.get() != &own) nearest.offer(e->key);
      },
      kKeysCompared);
  return nearest.difference();
}

void explain_miss(const CapturedGraph& f, const ProgramEntry& own, FlushReport* report, std::string why) {
  if (!report) return;
  if (why.empty()) why = nearest_difference(f, own);
  if (logging::enabled(logging::Channel::miss))
    logging::write(
        logging::Channel::miss,
        std::string(name_of(report->cause)) + " at " + lazy::to_string(report->site) + ": " + why,
        logging::Fields().at(report->site).add("cause", name_of(report->cause)).add("reason", why));
  report->miss = why;
}

// Loads the entry's programs from disk, once. Returns the nanoseconds it took; 0 if nothing was found.
uint64_t load(ProgramEntry& e, const cache::KeyView& key, Backend& backend, const CapturedGraph* captured) {
  if (std::exchange(e.looked_on_disk, true)) return 0;
  const auto start = std::chrono::steady_clock::now();
  const auto stored = stored_programs(e.key, backend, captured);
  if (stored.empty()) return 0;
  for (auto p = stored.rbegin(); p != stored.rend(); ++p) e.put_first(*p);
  if (auto kept = program_entries().find(key); kept.get() == &e)
    program_entries().set_weight(key, weight_of(e.key, *e.programs()));
  return std::max<uint64_t>(1, static_cast<uint64_t>((std::chrono::steady_clock::now() - start).count()));
}

// Implements LAZY_CUDA_ARCHS: compiles and stores on disk what another machine will run, unless it is there
// already.
void compile_for_others(const CapturedGraph& f) {
  if (config::get().cuda_archs.empty()) return;
  for (Backend* b : backends().cuda->cross_compilers()) {
    std::vector<uint32_t> key = f.key;
    CapturedGraph::set_code_class(key, b->code_class());
    if (key == f.key || !stored_programs(key, *b).empty()) continue;
    (void)compile(f, f.fixes_arguments() ? Variant::fixed : Variant::generic, *b);
  }
}

/// Returns an entry for a key that was not found; another thread may have made it meanwhile.
std::shared_ptr<ProgramEntry> new_entry(const CapturedGraph& f) {
  return program_entries().get_or_fill(view_of(f.key), [&] {
    auto fresh = std::make_shared<ProgramEntry>(f.key);
    return cache::Filled<ProgramEntry>{fresh, weight_of(f.key, {})};
  });
}

}  // namespace

std::shared_ptr<ProgramEntry> programs_of(const CapturedGraph& f,
                                          cache::LruCache<ProgramEntry>::Moment& when) {
  auto known = program_entries().find(view_of(f.key), &when);
  return known ? known : new_entry(f);
}

void look_up(Found& found, std::shared_ptr<ProgramEntry> entry, const CapturedGraph& f, Backend& backend,
             FlushReport* report, const Site& site, bool timed) {
  std::string why;
  std::string* const wants_why = report ? &why : nullptr;
  const auto hit = [&](const ProgramRef& p, uint64_t load_ns) {
    metric::add(MetricCounter::program_hits);
    if (report) {
      report->hit = true;
      report->load_ns = load_ns;
    }
    found.program = p;
  };
  cache::LruCache<ProgramEntry>::Moment when = found.when;
  if (!entry) entry = program_entries().find(view_of(f.key), &when);
  const bool recorded = profile::on() && report;
  timed = timed && recorded;
  if (timed) report->looked_up = profile::now();
  if (entry) {
    const uint32_t version = entry->version();
    if (ProgramRef p = first_that_holds(*entry, f, wants_why)) {
      if (timed) report->checked = quickly_checked(*p, why) ? report->looked_up : profile::now();
      hit(p, 0);
      found.arguments = arguments_kept(f, p);
      if (when.removals && entry->version() == version) {
        found.entry = std::move(entry);
        found.version = version;
        found.when = when;
      }
      return;
    }
  } else {
    entry = new_entry(f);
  }
  if (recorded) report->checked = profile::now();
  const Hold turn(entry->compiling);
  if (ProgramRef p = first_that_holds(*entry, f, nullptr)) {  // another thread was faster
    if (recorded) report->checked = profile::now();
    return hit(p, 0);
  }
  const cache::KeyView key = view_of(f.key);
  const profile::Ticks before_load = profile::start_time();
  if (const uint64_t ns = load(*entry, key, backend, &f)) {
    if (before_load) event::loaded(before_load, f, *entry->programs());
    compile_for_others(f);
    if (ProgramRef p = first_that_holds(*entry, f, wants_why)) {
      if (recorded) report->checked = profile::now();
      note_load(site);
      explain_miss(f, *entry, report, why);
      return hit(p, ns);
    }
  }
  metric::add(MetricCounter::program_misses);
  const bool in_vain = compiles_in_vain(site);
  if (in_vain && why.empty()) why = "so did the flushes before at this line, each for a program of its own";
  explain_miss(f, *entry, report, why);
  const ProgramRef p = compile(f, next_variant(*entry, f, entry->programs()->size()), backend,
                               in_vain ? Keep::no : Keep::on_disk);
  if (report) report->compile_ns = p->compile_ns;
  compile_for_others(f);
  entry->put_first(p);
  program_entries().insert(key, entry, weight_of(f.key, *entry->programs()));
  if (profile::on()) event::cache(program_entries().stats().entries);
  const auto inputs = static_cast<uint64_t>(std::count(f.pending.begin(), f.pending.end(), 0));
  note_compile(site, p, inputs, is_late_chain(site, f), [&] {
    const auto list = entry->programs();
    int64_t actual = 0;
    const Guard* const g = list->size() > 1 ? failed_guard(*(*list)[1], f, actual) : nullptr;
    return g ? "guard " + describe(*g, actual) : nearest_difference(f, *entry);
  });
  found.program = p;
}

std::shared_ptr<const Program> find_program(const CapturedGraph& f, Backend& backend, FlushReport* report) {
  Found found;
  look_up(found, nullptr, f, backend, report, Site{}, false);
  return found.program;
}

ProgramCacheStats program_cache_stats() {
  const cache::Stats s = program_entries().stats();
  return {s.entries, s.bytes, s.hits, s.misses, s.evictions, s.collisions};
}
std::vector<HeldProgram> held_programs() {
  std::vector<HeldProgram> all;
  program_entries().for_each([&](const cache::Key&, const std::shared_ptr<ProgramEntry>& e) {
    const auto list = e->programs();  // another thread may replace the list meanwhile
    for (const ProgramRef& p : *list) all.push_back({e->key, p});
  });
  return all;
}
size_t load_programs() {
  Backend& backend = backend_of(default_device(Site{}), Site{});
  const auto store = cache::process_store();
  if (!store || backend.target().empty()) return 0;
  std::vector<std::vector<uint32_t>> keys;
  store->for_each([&](const cache::Store::Listed& l) {
    StoredProgram s;
    std::string why;
    if (take_apart(l.key, l.value, s, why) && s.target == backend.target()) keys.push_back(std::move(s.key));
  });
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  size_t programs = 0;
  for (const auto& k : keys) {
    const auto entry = program_entries().get_or_fill(view_of(k), [&] {
      return cache::Filled<ProgramEntry>{std::make_shared<ProgramEntry>(k), weight_of(k, {})};
    });
    const Hold turn(entry->compiling);
    if (load(*entry, view_of(k), backend, nullptr)) programs += entry->programs()->size();
  }
  return programs;
}
void clear_program_cache() {
  program_entries().clear();
  forget_found();
  clear_kernel_cache();
  forget_compiles();
}
void set_program_cache_limits(size_t n, size_t bytes) { program_entries().set_limits(n, bytes); }

}  // namespace lazy::jit
