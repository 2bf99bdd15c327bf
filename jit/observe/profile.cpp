#include "jit/observe/profile.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "jit/plan/names.hpp"
#include "jit/plan/tiling/tile_group.hpp"
#include "support/holdings.hpp"
#include "support/lock.hpp"
#include "support/metrics.hpp"
#include "support/summarise.hpp"

namespace lazy::jit::event {
namespace {

using profile::Event;
using profile::Form;
using profile::Kind;
using profile::Type;
using profile::Writer;

constexpr Kind kRecord{"record", "record", {{{"flushed_by", Type::text}, {"at", Type::site}}}, Form::range};
constexpr Kind kKey{"key", "flush"};
constexpr Kind kLookUp{"lookup", "flush"};
constexpr Kind kGuards{"guards", "flush"};
constexpr Kind kRun{"run", "flush"};
constexpr Kind kCompile{"compile", "compile", {{{"variant", Type::text}, {"program", Type::integer}}}};
constexpr Kind kCodegen{"codegen", "compile", {{{"kernel", Type::text}, {"bytes_of_code", Type::integer}}}};
constexpr Kind kTileGroup{"tile_group", "kernel", {{{"kernels", Type::integer}, {"blocks", Type::integer}}}};
constexpr Kind kMemory{"memory", "memory", {{{"bytes", Type::integer}}}, Form::counter};
constexpr Kind kCache{"program cache",
                      "cache",
                      {{{"entries", Type::integer}, {"hits", Type::integer}, {"misses", Type::integer}}},
                      Form::counter};
constexpr Kind kFailed{
    "flush failed", "flush", {{{"cause", Type::text}, {"at", Type::site}, {"error", Type::text}}}};
constexpr Kind kGuardFailed{"guard failed",
                            "guards",
                            {{{"kind", Type::text},
                              {"was", Type::integer},
                              {"now", Type::integer},
                              {"program", Type::integer},
                              {"text", Type::text}}},
                            Form::instant};

}  // namespace

struct Facts {
  /// Holds what traces need of a program's step. It outlives the program.
  struct OfStep {
    const char* name;
    const char* at;
    const char* purpose;  // may be null
    uint64_t program, number, ops;
  };

  uint64_t of;      // Program::number
  uint64_t number;  // number of the program in the trace, from 1
  uint64_t ops, outputs;
  std::vector<OfStep> steps;
  std::vector<Site> sites;  // lines of the steps' names; empty: those with which the program was compiled
  std::atomic<const Facts*> next{nullptr};  // facts for another captured graph's lines
};

namespace {

thread_local const Facts* running = nullptr;  // facts of the run under way
thread_local const Backend* running_on = nullptr;

/// Returns "main.cpp:14" of "path/main.cpp:14".
std::string_view without_path(std::string_view at) {
  const size_t slash = at.rfind('/');
  return slash == at.npos ? at : at.substr(slash + 1);
}
std::string_view name_in(const Step& s) { return std::string_view(s.text).substr(0, s.text.find(": ")); }

// Returns the facts of one program, the latest first.
const Facts* known_facts(const Program& p) {
  return std::atomic_ref<const Facts*>(p.facts).load(std::memory_order_acquire);
}

/// `captured`: null for the names with which the program was compiled.
const Facts& make_facts(const Program& p, const CapturedGraph* captured) {
  static constinit Mutex mutex;
  const Hold hold(mutex);
  const Facts* const before = known_facts(p);
  if (before && !captured) return *before;
  // The list is never freed: events refer to facts until they are written, perhaps after the program is
  // destroyed.
  static constinit std::deque<Facts>* list = nullptr;
  if (!list || !hold.intact()) list = new std::deque<Facts>;
  auto& all = *list;
  static constinit uint64_t programs = 0;
  Facts& made = all.emplace_back();
  made.of = p.number;
  made.number = before ? before->number : ++programs;
  made.ops = p.nodes;
  made.outputs = p.results.size();
  for (const Step& s : p.steps) {
    const char* const purpose = step_purpose(s, captured);
    made.steps.push_back({profile::intern(captured ? step_name(s, captured) : std::string(name_in(s))),
                          profile::intern(without_path(captured ? step_line(s, captured) : s.at)),
                          purpose ? profile::intern(purpose) : nullptr, made.number, made.steps.size(),
                          s.ops});
    if (captured) made.sites.push_back(site_of(s, *captured));
  }
  made.next.store(before, std::memory_order_relaxed);
  std::atomic_ref<const Facts*>(p.facts).store(&made, std::memory_order_release);
  return made;
}

const Facts& facts_of(const Program& p) {
  if (running && running->of == p.number) return *running;
  const Facts* const known = known_facts(p);
  return known ? *known : make_facts(p, nullptr);
}

void memory(profile::Ticks at, uint64_t bytes, int thread, Writer& out) {
  const uint64_t words[] = {bytes};
  out.event({&kMemory, at, at, words, thread});
}

constexpr Kind kFlushSpan{"flush",
                          "flush",
                          {{{"cause", Type::text},
                            {"at", Type::site},
                            {"program", Type::integer},
                            {"ops", Type::integer},
                            {"kernels", Type::integer},
                            {"outputs", Type::integer},
                            {"hit", Type::boolean},
                            {"miss", Type::text}}}};

// Recorded in few words: the phases' ends are ticks since the flush began, two to a word.
enum FlushWord : size_t { kFacts, kAt, kMiss, kLiveCauseHit, kFirstOp, kKeyedLookedUp, kCheckedReady };
uint64_t two(profile::Ticks start, profile::Ticks a, profile::Ticks b) {
  const auto since = [start](profile::Ticks t) {
    return t > start ? std::min<uint64_t>(t - start, ~0u) : uint64_t{0};
  };
  return since(a) << 32 | since(b);
}

void expand_flush(const Event& e, Writer& out) {
  const Facts& f = *e.as<const Facts*>(kFacts);
  const uint64_t packed = e.words[kLiveCauseHit];
  const char* cause = name_of(static_cast<Cause>(packed >> 1 & 0x7f));
  const uint64_t words[] = {reinterpret_cast<uint64_t>(cause),
                            e.words[kAt],
                            f.number,
                            f.ops,
                            f.steps.size(),
                            f.outputs,
                            packed & 1,
                            e.words[kMiss]};
  out.event({&kFlushSpan, e.start, e.end, words, e.thread});
  if (e.words[kFirstOp] && e.words[kFirstOp] < e.start)
    out.event({&kRecord, e.words[kFirstOp], e.start, words, e.thread});
  profile::Ticks from = e.start;
  const auto phase = [&](const Kind& kind, uint64_t since) {
    if (e.start + since <= from) return;  // the flush skipped this phase
    out.event({&kind, from, e.start + since, words, e.thread});
    from = e.start + since;
  };
  phase(kKey, e.words[kKeyedLookedUp] >> 32);
  phase(kLookUp, e.words[kKeyedLookedUp] & ~0u);
  const uint64_t checked = e.words[kCheckedReady] >> 32;
  phase(from == e.start ? kLookUp : kGuards, checked);  // one phase where their times were not taken
  if (const uint64_t ready = e.words[kCheckedReady] & ~0u)
    out.event({&kRun, e.start + ready, e.end, words, e.thread});
  memory(e.end, packed >> 8, e.thread, out);
}
constexpr Kind kFlush{nullptr,
                      "flush",
                      {{{"facts", Type::integer},
                        {"at", Type::site},
                        {"miss", Type::text},
                        {"live_cause_hit", Type::integer},
                        {"first_op", Type::integer},
                        {"keyed_looked_up", Type::integer},
                        {"checked_ready", Type::integer}}},
                      Form::span,
                      expand_flush};

constexpr Kind kLaunchSpan{nullptr,
                           "kernel",
                           {{{"name", Type::text},
                             {"at", Type::text},
                             {"program", Type::integer},
                             {"step", Type::integer},
                             {"ops", Type::integer},
                             {"bytes", Type::real},
                             {"flops", Type::real},
                             {"parts", Type::integer},
                             {"in_tile_group", Type::boolean},
                             {"purpose", Type::text}}}};

enum LaunchWord : size_t { kStep, kBytesFlops, kLivePartsBand };
constexpr uint64_t kMostParts = 0x7fff;

void expand_launch(const Event& e, Writer& out) {
  const Facts::OfStep& f = *e.as<const Facts::OfStep*>(kStep);
  const uint64_t packed = e.words[kLivePartsBand];
  const auto real = [](uint64_t bits) {
    return std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
  };
  const uint64_t words[] = {reinterpret_cast<uint64_t>(f.name),
                            reinterpret_cast<uint64_t>(f.at),
                            f.program,
                            f.number,
                            f.ops,
                            real(e.words[kBytesFlops] >> 32),
                            real(e.words[kBytesFlops]),
                            packed >> 1 & kMostParts,
                            packed & 1,
                            reinterpret_cast<uint64_t>(f.purpose)};
  out.event({&kLaunchSpan, e.start, e.end, words, e.thread});
  if (!(packed & 1)) memory(e.end, packed >> 16, e.thread, out);
}
constexpr Kind kLaunch{
    nullptr,
    "kernel",
    {{{"step", Type::integer}, {"bytes_flops", Type::integer}, {"live_parts_tile_group", Type::integer}}},
    Form::span,
    expand_launch};

void put_launch(profile::Ticks start, profile::Ticks end, const Program& p, const Step& s, const Amount& a,
                uint32_t parts, bool in_tile_group) {
  const auto bits = [](double v) { return uint64_t{std::bit_cast<uint32_t>(static_cast<float>(v))}; };
  profile::put(kLaunch, start, end, &facts_of(p).steps[static_cast<size_t>(&s - p.steps.data())],
               bits(a.bytes) << 32 | bits(a.flops),
               metric::live() << 16 | std::min<uint64_t>(parts, kMostParts) << 1 | uint64_t{in_tile_group});
  if (summarise::on())
    summarise::launched({name_of(p, s), end - start, a.bytes, a.flops,
                         running_on ? running_on->least_ns(a.bytes, a.flops, parts) : 0});
}

const char* interned(const std::string& s) { return s.empty() ? nullptr : profile::intern(s); }

}  // namespace

constexpr Kind kSimplify{"simplify", "compile"};
constexpr Kind kFuse{"fuse", "compile"};
constexpr Kind kLower{"lower", "compile"};
constexpr Kind kTileGroups{"tile_groups", "compile"};
constexpr Kind kVerify{"verify", "flush"};

void name_run(const Program& p, const CapturedGraph& captured) {
  for (const Facts* f = known_facts(p); f; f = f->next.load(std::memory_order_relaxed)) {
    bool same = f->sites.size() == p.steps.size();
    for (size_t i = 0; same && i < p.steps.size(); ++i)
      same = std::memcmp(&f->sites[i], &site_of(p.steps[i], captured), sizeof(Site)) == 0;
    if (same) {
      running = f;
      return;
    }
  }
  running = &make_facts(p, &captured);
}

void runs(Cause cause, const Site& site, const Backend& backend) {
  running_on = &backend;
  if (summarise::on()) summarise::runs({name_of(cause), site});
}

void flush(const FlushTimes& t, const FlushReport& r, Cause cause, const Site& site, const Program& p) {
  const profile::Ticks end = profile::now();
  if (holdings::on()) holdings::sample();
  if (summarise::on())
    summarise::flushed({name_of(cause), site},
                       {t.start, end, r.hit, r.load_ns, r.compile_ns, p.nodes, r.miss});
  profile::put(kFlush, t.start, end, &facts_of(p), site, r.miss.empty() ? nullptr : interned(r.miss),
               metric::live() << 8 | static_cast<uint64_t>(cause) << 1 | uint64_t{r.hit}, t.first_op,
               two(t.start, t.keyed, r.looked_up), two(t.start, r.checked, t.ready));
}

void failed_flush(const FlushTimes& t, Cause cause, const Site& site, const char* what) {
  profile::put(kFailed, t.start, profile::now(), name_of(cause), site, profile::intern(what));
}

void guard(const Guard& g, int64_t actual, const Program& p) {
  const profile::Ticks now = profile::now();
  profile::put(kGuardFailed, now, now, name_of(g.kind), g.value, actual, facts_of(p).number,
               profile::intern(describe(g, actual)));
}

void cache(uint64_t entries) {
  const profile::Ticks now = profile::now();
  const Metrics m = metrics();
  profile::put(kCache, now, now, entries, m.program_hits, m.program_misses);
}

void launch(profile::Ticks start, profile::Ticks end, const Program& p, const Step& s, const uint64_t* words,
            uint32_t parts) {
  put_launch(start, end, p, s, amount_of(s, words), parts, false);
}

void call(profile::Ticks start, profile::Ticks end, const Program& p, const Step& s, const CapturedGraph& f) {
  Amount a;
  for (const Binding& b : s.operands)
    a.bytes += static_cast<double>(numel(f.values[b.node]->shape)) * static_cast<double>(size_of(b.dtype));
  put_launch(start, end, p, s, a, 1, false);
}

void tile_group(profile::Ticks start, profile::Ticks end, const Program& p, const TileGroup& b,
                int64_t blocks, const std::vector<uint64_t>& spent, const uint64_t* words) {
  profile::put(kTileGroup, start, end, b.count, blocks);
  uint64_t all = 1;
  for (const uint64_t s : spent) all += s;
  const double scale = static_cast<double>(end - start) / static_cast<double>(all);
  for (uint32_t i = 0; i < b.count; ++i) {
    const Step& s = p.steps[b.first + i];
    const auto length = static_cast<profile::Ticks>(static_cast<double>(spent[i]) * scale);
    put_launch(start, start + length, p, s, amount_of(s, words), profile::activity.parts, true);
    start += length;
    words += s.args.words();
  }
}

const char* name_of(const Program& p, const Step& s) {
  return facts_of(p).steps[static_cast<size_t>(&s - p.steps.data())].name;
}

void compiled(profile::Ticks start, const Program& p) {
  profile::put(kCompile, start, profile::now(), profile::intern(p.variant), facts_of(p).number);
}

void codegen(profile::Ticks start, const std::string& kernel, size_t bytes) {
  profile::put(kCodegen, start, profile::now(), profile::intern(kernel), bytes);
}

const char* line_of(const Program& p, const Step& s) {
  return facts_of(p).steps[static_cast<size_t>(&s - p.steps.data())].at;
}
uint64_t number_of(const Program& p) { return facts_of(p).number; }

}  // namespace lazy::jit::event
