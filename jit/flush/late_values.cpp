#include "jit/flush/late_values.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "jit/core/bytes.hpp"
#include "jit/flush/numbers.hpp"
#include "jit/flush/review_hint.hpp"
#include "support/config.hpp"
#include "support/lock.hpp"
#include "support/metrics.hpp"
#include "support/text.hpp"

namespace lazy::jit {
namespace {

using Line = std::pair<std::string_view, uint32_t>;  // file and line
Line line_of(const Site& s) { return {s.file_name(), s.line()}; }

constexpr uint64_t kFirstPair = 8, kLastPair = 1024;  // runs of the first look and of the last
constexpr uint64_t kVerdictOnPair = 32;               // runs from which on a hint may be given
constexpr uint32_t kCertainPairs = 4;                 // looks that found the same, before the last one
// Of the wall time in the later flushes: where large inputs are read twice, and where both do little.
constexpr double kSomeTimeInPairs = 0.1, kMuchTimeInPairs = 0.25;
constexpr uint64_t kLargeInput = 1 << 20;  // of an input that both flushes read
constexpr uint64_t kMostOpsOfOne = 1024;   // of two flushes, so that one may take both
constexpr uint64_t kFewOpsOfSecond = 64;
constexpr int64_t kFewElementsOfSecond = 1 << 14;  // of all values of a flush that is mostly overhead

bool is_asked(Cause c) { return is_asking(c) || c == Cause::eval; }

uint64_t nodes_recorded_here() noexcept {
  const metric::Shard* const s = metric::detail::shard;
  return s ? s->slot[static_cast<size_t>(MetricCounter::nodes_recorded)].load(std::memory_order_relaxed) : 0;
}

/// Holds what the latest review of the thread looked at.
struct ReviewedBefore {
  uint64_t program = 0, runs = 0, nodes = 0;
  Cause cause{};
  Site site{};
  Device device{};
  uint64_t ops = 0;
  std::vector<uint64_t> large;  // identities of large inputs
};
thread_local ReviewedBefore reviewed_before;

uint64_t size_of_input(const Node& n) { return bytes_of(n.shape, n.dtype); }

template <class F>
void for_large_inputs(const CapturedGraph& f, F&& use) {
  for (size_t v = 0; v < f.values.size(); ++v) {
    const Node& n = *f.values[v];
    if (!f.pending[v] && !is_source(n.op) && n.ready() && n.buffer && size_of_input(n) >= kLargeInput) use(n);
  }
}
std::vector<uint64_t> large_inputs(const CapturedGraph& f) {
  std::vector<uint64_t> all;
  for_large_inputs(f, [&](const Node& n) { all.push_back(n.buffer->identity()); });
  return all;
}

/// Returns the bytes of large inputs that are among `others`.
uint64_t bytes_read_again(const CapturedGraph& f, const std::vector<uint64_t>& others) {
  uint64_t bytes = 0;
  for_large_inputs(f, [&](const Node& n) {
    if (std::find(others.begin(), others.end(), n.buffer->identity()) != others.end())
      bytes += size_of_input(n);
  });
  return bytes;
}

bool is_small(const Reviewed& r) {
  if (r.program.nodes > kFewOpsOfSecond) return false;
  int64_t elements = 0;
  for (const Node* n : r.captured.values) elements += numel(n->shape);
  return elements <= kFewElementsOfSecond;
}

constinit Mutex late_mutex;
/// Counts by program how often a review found that it came right after another's flush.
using Followers = std::map<uint64_t, uint32_t>;
struct Maker {
  Cause cause{};
  Site site{};
};
struct LateKnown {
  Followers followers;
  std::map<Line, Maker> makers;     // by the line that records what the flush makes
  std::map<Line, uint32_t> chains;  // how often a flush at the line had a late chain
};
constexpr size_t kMostLate = 4096;                 // entries of each
constinit LateKnown* late_values_known = nullptr;  // never destroyed: tensors may outlive static destruction
LateKnown& late_known(const Hold<Mutex>& hold) {
  if (!late_values_known || !hold.intact()) late_values_known = new LateKnown;
  return *late_values_known;
}

std::string asked(Cause c, const Site& s) { return std::string(name_of(c)) + "() at " + lazy::to_string(s); }

}  // namespace

void tell_of_two_flushes(const Reviewed& r, double share) {
  if (r.runs < kFirstPair || r.runs > kLastPair + 1) return;
  const uint64_t nodes = nodes_recorded_here();
  const ReviewedBefore last = std::exchange(
      reviewed_before, ReviewedBefore{r.program.number, r.runs, nodes, r.cause, r.site, r.wanted.device,
                                      r.program.nodes, large_inputs(r.captured)});
  const bool follows = last.nodes == nodes && nodes != 0 && last.program != r.program.number &&
                       is_asked(last.cause) && is_asked(r.cause) && r.site.line() != 0 &&
                       last.site.line() != 0 && last.runs <= r.runs + 1 && last.device == r.wanted.device &&
                       last.ops + r.program.nodes <= kMostOpsOfOne;
  if (!follows) return;
  uint32_t times = 0;
  {
    const Hold hold(late_mutex);
    Followers& all = late_known(hold).followers;
    if (all.size() >= kMostLate) all.clear();  // most are of programs that don't run any more
    times = ++all[r.program.number];
  }
  if (times <= kCertainPairs || r.runs < kVerdictOnPair || share < kSomeTimeInPairs) return;
  const uint64_t again = bytes_read_again(r.captured, last.large);
  if (again == 0 && (share < kMuchTimeInPairs || !is_small(r))) return;
  give_hint("two flushes", r.site,
            asked(r.cause, r.site) + " flushes by itself what was there to be computed when " +
                asked(last.cause, last.site) + " flushed, each of " + std::to_string(r.runs) + " times" +
                (again ? ", so " + text::human_size(again) + " of inputs are read twice" : std::string()) +
                ": eval({a, b}) of both values, before the first is asked for, computes them in one flush");
}

void note_makers(const Reviewed& r) {
  if (r.runs != kFirstPair || !is_asked(r.cause) || r.site.line() == 0) return;
  const Hold hold(late_mutex);
  auto& makers = late_known(hold).makers;
  for (uint32_t v = 0; v < r.captured.values.size() && makers.size() < kMostLate; ++v) {
    const Node& n = *r.captured.values[v];
    if (r.captured.is_output(v) && n.site.line() != 0) makers[line_of(n.site)] = {r.cause, r.site};
  }
}

namespace {

constexpr uint32_t kManySteps = 16;  // of a chain that waited
constexpr size_t kMostKeys = 8;      // kinds of values whose chains are followed
constexpr uint32_t kOftenLate = 3;   // flushes with such a chain before a hint

/// Returns the line whose values most steps read: made before, and held by nobody any more.
bool maker_of_inputs(const CapturedGraph& f, const LateKnown& s, Maker& maker, Line& made_at) {
  std::map<Line, uint32_t> made;
  for (size_t v = 0; v < f.values.size(); ++v) {
    const Node& n = *f.values[v];
    if (!f.pending[v] && n.ready() && n.op != Op::input && !is_source(n.op) && n.handles() == 0 &&
        n.site.line() != 0)
      ++made[line_of(n.site)];
  }
  uint32_t most = kManySteps - 1;
  for (const auto& [line, times] : made) {
    const auto by = s.makers.find(line);
    if (by == s.makers.end() || times <= most) continue;
    most = times, maker = by->second, made_at = line;
  }
  return most >= kManySteps;
}

/// Returns how many values of the kind of `like`, recorded at its line, follow from each other at most.
uint32_t longest_chain(const CapturedGraph& f, const Numbers& numbers, const Node& like,
                       std::vector<uint32_t>& depth) {
  uint32_t longest = 0;
  depth.assign(f.values.size(), 0);
  for (uint32_t v = 0; v < f.values.size(); ++v) {
    if (!f.pending[v]) continue;
    const Node& n = *f.values[v];
    for (int i = 0; i < n.arity; ++i)
      if (const uint32_t o = numbers.of(n.operand[i]); o != kNone) depth[v] = std::max(depth[v], depth[o]);
    depth[v] += n.op == like.op && std::memcmp(&n.site, &like.site, sizeof(Site)) == 0;
    longest = std::max(longest, depth[v]);
  }
  return longest;
}

/// Returns the lines of the chains, and how many steps the longest has.
std::vector<Site> chains_in(const CapturedGraph& f, uint32_t& steps) {
  std::map<std::pair<Line, Op>, std::pair<uint32_t, const Node*>> kinds;
  for (size_t v = 0; v < f.values.size(); ++v) {
    const Node& n = *f.values[v];
    if (!f.pending[v] || kind_of(n.op) != OpKind::pointwise || n.op == Op::cast || n.site.line() == 0)
      continue;
    auto& [times, first] = kinds[{line_of(n.site), n.op}];
    ++times, first = &n;
  }
  std::vector<Site> lines;
  std::vector<uint32_t> depth;
  const Numbers numbers(f);
  size_t looked_at = 0;
  for (const auto& [kind, of] : kinds) {
    if (of.first < kManySteps || looked_at++ >= kMostKeys) continue;
    const uint32_t longest = longest_chain(f, numbers, *of.second, depth);
    if (longest < kManySteps) continue;
    steps = std::max(steps, longest);
    if (lines.empty() || line_of(lines.back()) != kind.first) lines.push_back(of.second->site);
  }
  return lines;
}

}  // namespace

void forget_late_values() {
  reviewed_before = {};
  const Hold hold(late_mutex);
  late_known(hold) = {};
}

bool is_late_chain(const Site& site, const CapturedGraph& f) {
  if (site.line() == 0 || f.values.size() < 2 * kManySteps || config::get().hints == config::Hints::off)
    return false;
  Maker maker;
  Line made_at;
  {
    const Hold hold(late_mutex);
    if (!maker_of_inputs(f, late_known(hold), maker, made_at)) return false;
  }
  // A flush at the line of the other one is of the same loop, or of a loop of another length.
  if (maker.site.line() == site.line()) return false;
  uint32_t steps = 0;
  const std::vector<Site> lines = chains_in(f, steps);
  if (lines.empty()) return false;
  uint32_t times = 0;
  {
    const Hold hold(late_mutex);
    LateKnown& s = late_known(hold);
    if (s.chains.size() >= kMostLate) return false;
    times = ++s.chains[line_of(site)];
  }
  if (times != kOftenLate) return true;
  std::vector<std::string> at;
  for (const Site& line : lines) at.push_back(lazy::to_string(line));
  give_hint("late chain", site,
            "what is recorded at " + listed(at) + " waited for the flush at " + lazy::to_string(site) +
                " through " + std::to_string(steps) +
                " steps, and that compiles anew for each number of them (for the " +
                std::to_string(kOftenLate) + "rd time): evaluate it in each step, together with what " +
                asked(maker.cause, maker.site) + " asks for, as eval({a, b}) does");
  return true;
}

}  // namespace lazy::jit
