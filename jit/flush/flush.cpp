#include "jit/flush/flush.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

#include "cache/lru.hpp"
#include "cache/process_store.hpp"
#include "jit/backend/registry.hpp"
#include "jit/compile/disk.hpp"
#include "jit/compile/kernels.hpp"
#include "jit/compile/profile_program.hpp"
#include "jit/flush/faults.hpp"
#include "jit/flush/liveness.hpp"
#include "jit/flush/no_flush.hpp"
#include "jit/flush/recompiles.hpp"
#include "jit/graph/graph.hpp"
#include "jit/graph/observed.hpp"
#include "jit/key/report.hpp"
#include "jit/observe/profile.hpp"
#include "jit/plan/names.hpp"
#include "jit/plan/peak.hpp"
#include "jit/run/run.hpp"
#include "jit/verify/verify.hpp"
#include "support/config.hpp"
#include "support/error.hpp"
#include "support/float_mode.hpp"
#include "support/lock.hpp"
#include "support/log.hpp"
#include "support/metrics.hpp"
#include "support/nvtx.hpp"
#include "support/text.hpp"

namespace lazy::jit {
namespace {

using ProgramRef = std::shared_ptr<const Program>;
using ProgramList = std::vector<ProgramRef>;  // most recently used first

/// The programs of one key. Readers copy the list; compiles of one key take turns.
class Entry {
 public:
  explicit Entry(std::vector<uint32_t> k) : key(std::move(k)) {}

  std::shared_ptr<const ProgramList> programs() {
    const Hold hold(lock_);
    if (!hold.intact()) forget();
    return list_;
  }
  void put_first(const ProgramRef& p) {
    auto list = std::make_shared<ProgramList>();
    list->push_back(p);
    const Hold hold(lock_);
    if (!hold.intact()) forget();
    for (const ProgramRef& q : *list_)
      if (q != p) list->push_back(q);
    list_ = std::move(list);
  }

  const std::vector<uint32_t> key;
  Liveness liveness;  // of its outputs, if there are several
  Mutex compiling;
  bool looked_on_disk = false;  // under `compiling`
  bool warned = false;

 private:
  /// A forked child goes on without what a thread of its parent was changing.
  void forget() { std::construct_at(&list_, std::make_shared<ProgramList>()); }

  SpinLock lock_;
  std::shared_ptr<const ProgramList> list_ = std::make_shared<ProgramList>();
};

constinit Once<cache::LruCache<Entry>> cached_entries;

cache::LruCache<Entry>& entries() {
  return cached_entries.get([] {
    constexpr const char* causes[] = {"item",       "to_vector",  "data",         "print", "eval",    "truth",
                                      "node_limit", "byte_limit", "other_thread", "eager", "transfer"};
    static const char* guards[kGuardKinds];
    for (int i = 0; i < kGuardKinds; ++i) guards[i] = name_of(static_cast<Guard::Kind>(i));
    metric::name_causes(causes);
    metric::name_guards(guards);
    const auto& c = config::get();
    return cache::LruCache<Entry>(static_cast<size_t>(c.cache_entries.get()), c.cache_size,
                                  Counter::programs_evicted);
  });
}

cache::KeyView view_of(const std::vector<uint32_t>& key) {
  return {key.data(), key.size() * sizeof(uint32_t)};
}

size_t weight_of(const std::vector<uint32_t>& key, const ProgramList& list) {
  size_t bytes = key.size() * sizeof(uint32_t) * 2;
  for (const ProgramRef& p : list) bytes += 512 + p->steps.size() * sizeof(Step) + p->code_bytes;
  return bytes;
}

// " (v3 was made at main.cpp:12)"
std::string made_at(const CapturedGraph& f, uint32_t value) {
  const Site& site = f.values[value]->site;
  return site.line() ? " (v" + std::to_string(value) + " was made at " + lazy::to_string(site) + ")" : "";
}

// The first program whose guards hold. Otherwise why the most recently used one's did not.
ProgramRef first_that_holds(Entry& e, const CapturedGraph& f, std::string* why) {
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
      logging::print(logging::Channel::guards, "%s program turned down: %s", p->variant.c_str(),
                     describe(*g, actual).c_str());
    if (why && why->empty()) {
      *why = "guard " + describe(*g, actual) + made_at(f, subject_of(*g, *p));
      if (p->variant == name_of(Variant::fixed)) *why += "; LAZY_DYNAMIC=never compiles for each size";
    }
  }
  return nullptr;
}

// A few guards take less time than a time stamp: they count as part of the look-up.
bool quickly_checked(const Program& p, const std::string& why_not_another) {
  constexpr size_t kFew = 8;
  return p.guards.size() <= kFew && why_not_another.empty();
}

Variant next_variant(Entry& e, const CapturedGraph& f, size_t programs) {
  const auto limit = static_cast<size_t>(config::get().recompile_limit.get());
  if (programs + 1 >= limit && programs > 0) {
    if (!std::exchange(e.warned, true))
      logging::warning("a graph needed " + std::to_string(programs + 1) + " programs (LAZY_RECOMPILE_LIMIT=" +
                       std::to_string(limit) + "): from now on its most general one runs");
    return Variant::strict;
  }
  return f.fixes_arguments() ? Variant::fixed : Variant::generic;
}

// A miss is explained by the nearest of so many latest programs: it must not take longer the more there are.
constexpr size_t kKeysCompared = 256;

std::string nearest_difference(const CapturedGraph& f, const Entry& own) {
  NearestKey nearest(f);
  entries().for_each(
      [&](const cache::Key&, const std::shared_ptr<Entry>& e) {
        if (e.get() != &own) nearest.offer(e->key);
      },
      kKeysCompared);
  return nearest.difference();
}

void explain_miss(const CapturedGraph& f, const Entry& own, FlushReport* report, std::string why) {
  if (!report) return;
  if (why.empty()) why = nearest_difference(f, own);
  if (logging::enabled(logging::Channel::miss))
    logging::print(logging::Channel::miss, "%s at %s: %s", name_of(report->cause),
                   lazy::to_string(report->site).c_str(), why.c_str());
  report->miss = why;
}

// What is kept on disk for the entry's key becomes its programs, once. Nanoseconds it took; 0 if nothing was
// found.
uint64_t load(Entry& e, const cache::KeyView& key, Backend& backend, const CapturedGraph* captured) {
  if (std::exchange(e.looked_on_disk, true)) return 0;
  const auto start = std::chrono::steady_clock::now();
  const auto stored = stored_programs(e.key, backend, captured);
  if (stored.empty()) return 0;
  for (auto p = stored.rbegin(); p != stored.rend(); ++p) e.put_first(*p);
  if (auto kept = entries().find(key); kept.get() == &e)
    entries().set_weight(key, weight_of(e.key, *e.programs()));
  return std::max<uint64_t>(1, static_cast<uint64_t>((std::chrono::steady_clock::now() - start).count()));
}

std::shared_ptr<Entry> entry_of(const CapturedGraph& f) {
  return entries().get_or_fill(view_of(f.key), [&] {
    auto fresh = std::make_shared<Entry>(f.key);
    return cache::Filled<Entry>{fresh, weight_of(f.key, {})};
  });
}

/// Time stamps are most of what a recording costs a cached flush, whose phases are much the same each time:
/// those of one in eight are told apart.
struct Phases {
  bool wanted = false;
  uint8_t flushes = 0;
  void next(bool recording) { wanted = recording && flushes++ % 8 == 0; }
};
thread_local Phases phases;

// LAZY_CUDA_ARCHS: what another machine will run is compiled and kept on disk, unless it is there already.
void compile_for_others(const CapturedGraph& f) {
  if (config::get().cuda_archs.empty()) return;
  for (Backend* b : backends().cuda->cross_compilers()) {
    std::vector<uint32_t> key = f.key;
    CapturedGraph::set_code_class(key, b->code_class());
    if (key == f.key || !stored_programs(key, *b).empty()) continue;
    (void)compile(f, f.fixes_arguments() ? Variant::fixed : Variant::generic, *b);
  }
}

// `entry`: of the captured graph's key, if it was looked up already. `site`: the line that needs the value.
ProgramRef find_program(std::shared_ptr<Entry> entry, const CapturedGraph& f, Backend& backend,
                        FlushReport* report, const Site& site) {
  std::string why;
  std::string* const wants_why = report ? &why : nullptr;
  const auto hit = [&](const ProgramRef& p, uint64_t load_ns) {
    metric::add(Counter::program_hits);
    if (report) {
      report->hit = true;
      report->load_ns = load_ns;
    }
    return p;
  };
  if (!entry) entry = entries().find(view_of(f.key));
  const bool recorded = profile::on() && report, timed = recorded && phases.wanted;
  if (timed) report->looked_up = profile::now();
  if (entry) {
    if (ProgramRef p = first_that_holds(*entry, f, wants_why)) {
      if (timed) report->checked = quickly_checked(*p, why) ? report->looked_up : profile::now();
      return hit(p, 0);
    }
  } else {
    entry = entry_of(f);
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
      return hit(p, ns);
    }
  }
  metric::add(Counter::program_misses);
  explain_miss(f, *entry, report, why);
  const ProgramRef p = compile(f, next_variant(*entry, f, entry->programs()->size()), backend);
  if (report) report->compile_ns = p->compile_ns;
  compile_for_others(f);
  entry->put_first(p);
  entries().insert(key, entry, weight_of(f.key, *entry->programs()));
  if (profile::on()) event::cache(entries().stats().entries);
  const auto inputs = static_cast<uint64_t>(std::count(f.pending.begin(), f.pending.end(), 0));
  note_compile(site, p, inputs, [&] {
    const auto list = entry->programs();
    int64_t actual = 0;
    const Guard* const g = list->size() > 1 ? failed_guard(*(*list)[1], f, actual) : nullptr;
    return g ? "guard " + describe(*g, actual) : nearest_difference(f, *entry);
  });
  return p;
}

// Values that other flushes are making, or failed to make, must exist before this one can bind them.
void await_leaves(const std::vector<Node*>& nodes, const Site& site) {
  for (Node* n : nodes)
    for (int i = 0; i < n->arity; ++i) {
      Node* o = n->operand[i];
      if (!n->operand.is_input(i) || o->ready() || o->op == Op::constant || o->op == Op::iota) continue;
      o->counts.fetch_add(Node::kHandle, std::memory_order_relaxed);
      const Handle input = Handle::adopt(o);
      const Handle* one[] = {&input};
      evaluate(one, Cause::other_thread, site);
    }
}

// A value that is there: the node lets go of its operands.
[[gnu::always_inline]] inline void become_ready(Node* n) noexcept {
  const int arity = std::exchange(n->arity, 0);
  n->state.store(State::ready, std::memory_order_release);
  n->state.notify_all();
  for (int i = 0; i < arity; ++i) drop_reference(n->operand[i]);
}

// The values are there; nodes that were dropped are pending again.
void finish(Graph& graph, const std::vector<Node*>& nodes, CapturedGraph& f) noexcept {
  for (Node* n : nodes)
    if (n->buffer) become_ready(n);
  if (!f.repended.empty()) graph.repend(f.repended, f.spare);
  for (Node* n : nodes) drop_reference(n);
}

thread_local int no_flush = 0;

void log_memory(const Site& site) {
  const Metrics m = metrics();
  logging::print(logging::Channel::memory, "after the flush at %s: %s in use, %s at most, %s donated so far",
                 lazy::to_string(site).c_str(), text::human_size(m.bytes_live).c_str(),
                 text::human_size(m.bytes_peak).c_str(), text::human_size(m.bytes_donated).c_str());
}

// In a handler.
void note_failure(const FlushTimes& times, Cause cause, const Site& site) noexcept {
  try {
    try {
      throw;
    } catch (const std::exception& e) { event::failed_flush(times, cause, site, e.what()); } catch (...) {
      event::failed_flush(times, cause, site, "an exception of another type");
    }
  } catch (...) {}  // no memory to say so
}

// The nodes are pending again, as before the flush; but those of Captured graph::stands, whose values are
// there.
void undo(Graph& graph, std::vector<Node*>& nodes, CapturedGraph& f) noexcept {
  auto stands = f.stands.begin();
  const auto last = std::remove_if(nodes.begin(), nodes.end(), [&](Node* n) {
    if (stands != f.stands.end() && *stands == n) return ++stands, true;
    n->buffer.reset();
    return false;
  });
  nodes.erase(last, nodes.end());
  graph.restore(nodes, f.spare);
  for (Node* n : nodes) drop_reference(n);
  for (Node* n : f.stands) become_ready(n);
  for (Node* n : f.stands) drop_reference(n);
}

// A program of so many kernels has values that die in the middle: one of fewer takes what it takes.
constexpr size_t kFewKernels = 32;

/// True if the values of the run's own would take more than LAZY_MAX_BYTES, and fewer in two runs.
bool is_too_much(const Program& p, const CapturedGraph& f) {
  return p.steps.size() > kFewKernels && peak_bytes(p, f) > static_cast<uint64_t>(config::get().max_bytes);
}

/// Where the nodes are cut in two: a call and its outputs stay together.
size_t middle_of(const std::vector<Node*>& nodes) {
  size_t middle = nodes.size() / 2;
  while (middle < nodes.size() && nodes[middle]->op == Op::part) ++middle;
  return middle;
}

// Values of the first half that the second reads: with handles they are kept.
std::vector<Handle> read_by_second_half(const std::vector<Node*>& nodes) {
  const size_t middle = middle_of(nodes);
  std::vector<Handle> read;
  for (size_t i = 0; i < middle; ++i) nodes[i]->index = 0;
  for (size_t i = middle; i < nodes.size(); ++i) nodes[i]->index = 1;
  for (size_t i = middle; i < nodes.size(); ++i) {
    const Node& n = *nodes[i];
    for (int k = 0; k < n.arity; ++k) {
      Node* o = n.operand[k];
      if (n.operand.is_input(k) || std::exchange(o->index, 1) != 0) continue;
      o->counts.fetch_add(Node::kHandle, std::memory_order_relaxed);
      read.push_back(Handle::adopt(o));
    }
  }
  return read;
}

// The first half is evaluated, for good; the second is pending and reads its values.
void flush_first_half(Graph& graph, const std::vector<Node*>& nodes, CapturedGraph& f,
                      const std::vector<Handle>& read, const Site& site) {
  graph.restore_in_two(nodes, middle_of(nodes), f.spare);
  for (Node* n : nodes) drop_reference(n);
  std::vector<const Handle*> handles;
  for (const Handle& h : read) handles.push_back(&h);
  evaluate(handles, Cause::byte_limit, site);
}

void describe(const Program& p, const CapturedGraph& f, FlushReport& report) {
  report.ops = p.nodes;
  report.outputs = p.results.size();
  report.kernels = p.steps.size();
  report.tile_groups = p.tile_groups.size();
  report.variant = p.variant;
  for (size_t i = 0; i < p.steps.size(); ++i) {
    report.fused_ops += p.steps[i].ops;
    report.kernel_texts.push_back(step_text(p, i, &f));
  }
}

// Where an index is out of range, what depends on it stays pending; throws IndexError if that is what is
// wanted. True if all values of the flush were computed.
bool run_what_can_be(ProgramRef& program, CapturedGraph& f, const Node& wanted, Backend& backend,
                     const Site& site) {
  for (bool all = true;; all = false) {
    try {
      run(*program, f, backend);
      return all;
    } catch (const Fault& fault) {
      if (!leave_out_faulty(f, fault, wanted)) explain(fault, f, backend);
    }
    program = find_program(nullptr, f, backend, nullptr, site);
  }
}

void flush(Node* wanted, Cause cause, const Site& site) {
  if (no_flush > 0)
    throw Error(std::string("a flush where none is allowed: ") + name_of(cause) + " needs the value of " +
                    name_of(wanted->op) + ", recorded at " + lazy::to_string(wanted->site),
                site);
  using clock = std::chrono::steady_clock;
  const FloatMode mode;
  Backend& backend =
      backend_of(wanted->device, site);  // the first one takes a while to make: before the flush is timed
  const nvtx::Range range(
      [&] { return std::string("flush: ") + name_of(cause) + " " + lazy::to_string(site); });
  FlushTimes times;
  times.start = profile::start_time();
  phases.next(times.start != 0);
  CapturedGraphLease captured;
  std::vector<Node*>& nodes = captured->taken;
  nodes.clear();
  captured->spare.fill();
  Graph& graph = *wanted->graph;
  times.first_op = graph.take(wanted, nodes);
  if (nodes.empty()) return;
  FlushListener* const listener = FlushListener::current();
  const bool logged = logging::enabled(logging::Channel::flush);
  const clock::time_point start = listener || logged ? clock::now() : clock::time_point{};
  FlushReport report;
  std::shared_ptr<Entry> learning;  // of the key with all outputs
  std::vector<uint32_t>& dropped = captured->dropped;
  dropped.clear();
  captured->stands.clear();
  ProgramRef program;
  bool in_two = false;
  std::vector<Handle> between;  // the halves
  try {
    await_leaves(nodes, site);
    captured->build(nodes, backend.code_class());
    if (captured->outputs > 1 && config::get().liveness.get() == config::Liveness::adaptive) {
      learning = entries().find(view_of(captured->key));
      if (!learning) learning = entry_of(*captured);
      learning->liveness.choose(*captured, dropped);
      if (!dropped.empty()) captured->drop(dropped);
    }
    if (phases.wanted) times.keyed = profile::now();
    FlushReport* const wants_report = listener || logged ? &report : nullptr;
    report.cause = cause;
    report.site = site;
    const bool wants_miss = times.start || logging::enabled(logging::Channel::miss);
    program = find_program(dropped.empty() ? learning : nullptr, *captured, backend,
                           wants_miss ? &report : wants_report, site);
    if (times.start) times.ready = report.hit ? report.checked : profile::now();
    in_two = middle_of(nodes) < nodes.size() && is_too_much(*program, *captured);
    if (in_two) {
      between = read_by_second_half(nodes);
    } else {
      if (wants_report) describe(*program, *captured, report);
      const bool all = run_what_can_be(program, *captured, *wanted, backend, site);
      program->runs.add();
      if (all && captured->verify != config::Verify::off) {
        const profile::Span span(event::kVerify);
        verify(*program, *captured, site);
      }
    }
  } catch (...) {
    undo(graph, nodes, *captured);
    if (times.start) note_failure(times, cause, site);
    throw;
  }
  if (in_two) return flush_first_half(graph, nodes, *captured, between, site);
  // Inputs may be overwritten by now: the values stand before anything else can fail.
  if (learning) learning->liveness.watch(*captured, dropped);
  metric::flushed(static_cast<size_t>(cause));
  finish(graph, nodes, *captured);
  if (times.start) event::flush(times, report, cause, site, *program);
  if (listener || logged) report.total_ns = static_cast<uint64_t>((clock::now() - start).count());
  if (cause == Cause::node_limit || cause == Cause::byte_limit) note_limit(site, cause);
  if (logged) logging::write(logging::Channel::flush, to_string(report));
  if (logging::enabled(logging::Channel::memory)) log_memory(site);
  if (listener) listener->flushes.push_back(std::move(report));
}

}  // namespace

std::shared_ptr<const Program> find_program(const CapturedGraph& f, Backend& backend, FlushReport* report) {
  return find_program(nullptr, f, backend, report, Site{});
}

void evaluate(std::span<const Handle* const> handles, Cause cause, const Site& site) {
  for (const Handle* h : handles)
    if (!h->get()->ready()) watch::need(*h->get());
    else watch::note_use(*h->get());
  for (const Handle* h : handles) {
    Node* n = h->get();
    for (;;) {
      const State s = n->state.load(std::memory_order_acquire);
      if (s == State::ready) break;
      located<DeviceError>(site, [&] {
        if (s == State::pending) located<CompileError>(site, [&] { flush(n, cause, site); });
        else if (s == flushing_here()) n->state.wait(s, std::memory_order_acquire);
        else forks::fail_left_behind();
      });
    }
  }
}
ProgramCacheStats program_cache_stats() {
  const cache::Stats s = entries().stats();
  return {s.entries, s.bytes, s.hits, s.misses, s.evictions, s.collisions};
}
NoFlush::NoFlush() { ++no_flush; }
NoFlush::~NoFlush() { --no_flush; }

std::vector<HeldProgram> held_programs() {
  std::vector<HeldProgram> all;
  entries().for_each([&](const cache::Key&, const std::shared_ptr<Entry>& e) {
    const auto list = e->programs();  // which another thread may replace meanwhile
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
    const auto entry = entries().get_or_fill(view_of(k), [&] {
      return cache::Filled<Entry>{std::make_shared<Entry>(k), weight_of(k, {})};
    });
    const Hold turn(entry->compiling);
    if (load(*entry, view_of(k), backend, nullptr)) programs += entry->programs()->size();
  }
  return programs;
}
void clear_program_cache() {
  entries().clear();
  clear_kernel_cache();
  forget_compiles();
}
void set_program_cache_limits(size_t n, size_t bytes) { entries().set_limits(n, bytes); }

}  // namespace lazy::jit
