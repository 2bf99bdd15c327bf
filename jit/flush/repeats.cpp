#include "jit/flush/repeats.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <vector>

#include "jit/calls/call.hpp"
#include "jit/flush/numbers.hpp"
#include "jit/flush/review_hint.hpp"
#include "support/hash.hpp"
#include "support/lock.hpp"

namespace lazy::jit {
namespace {

constexpr uint64_t kFirstLook = 8, kLastLook = 32;  // runs of the first look and of the verdict
constexpr size_t kMostValues = 4096;                // of a graph that is looked at
constexpr size_t kMostPrograms = 512;               // that are looked at, at once
constexpr double kDear = 1 << 18;                   // additions that a run repeats, at least
constexpr double kMuchOfTheWork = 0.25;             // of a run is repeated, at least
constexpr double kMuchTimeOnRepeats = 0.1;          // of the wall time is spent on it, at least
// Additions that an element takes, at least: less is as dear to read back.
constexpr double kWorthStoring = 10;
constexpr double kCallCost = 64;  // additions for each element of a call, of which no more is known

/// Identifies what values a run computes, by value of the captured graph; 0: not known to be the same again.
using Hashes = std::vector<uint64_t>;

/// Never returns 0.
uint64_t mixed(uint64_t a, uint64_t b) { return mix(a, b) | 1; }
template <class Range>
uint64_t mixed_all(uint64_t h, const Range& r) {
  for (const auto x : r) h = mixed(h, static_cast<uint64_t>(x));
  return mixed(h, 0x51ull);
}
uint64_t mixed_shape(uint64_t h, const Shape& s) {
  for (int i = 0; i < s.size(); ++i) h = mixed(h, static_cast<uint64_t>(s[i]));
  return h;
}

uint64_t hash_of_input(const Node& n) {
  const uint64_t h = mixed_shape(mixed(static_cast<uint64_t>(n.op), static_cast<uint64_t>(n.dtype)), n.shape);
  if (n.op == Op::constant) return mixed(h, n.scalar.bits);
  if (n.op == Op::iota) return mixed_all(h, n.axes.get());
  if (!n.ready() || !n.buffer || n.lost) return 0;
  // The user may write to borrowed memory without our notice.
  if (n.buffer->borrowed() && !n.buffer->unchanging()) return 0;
  uint64_t of = mixed(mixed(h, n.buffer->identity()), static_cast<uint64_t>(n.offset));
  if (!n.contiguous) of = mixed_all(of, n.strides.get());
  return of;
}

Hashes hashes_of(const CapturedGraph& f, const Numbers& numbers) {
  Hashes all(f.values.size(), 0);
  for (uint32_t v = 0; v < f.values.size(); ++v) {
    const Node& n = *f.values[v];
    if (!f.pending[v]) {
      all[v] = hash_of_input(n);
      continue;
    }
    if (n.op == Op::call && is_run_once(n)) continue;
    uint64_t h = mixed_shape(mixed(static_cast<uint64_t>(n.op), static_cast<uint64_t>(n.dtype)), n.shape);
    h = mixed_all(mixed_all(mixed_all(h, n.ints.get()), n.steps.get()), n.axes.get());
    for (int i = 0; i < n.arity && h; ++i) {
      const uint32_t o = numbers.of(n.operand[i]);
      h = o == kNone || all[o] == 0 ? 0 : mixed(h, all[o]);
    }
    all[v] = h;
  }
  return all;
}

/// Returns roughly how many additions a value takes.
double cost_of_value(const Node& n) {
  const auto elements = static_cast<double>(numel(n.shape));
  double read = 0;
  for (int i = 0; i < n.arity; ++i) read += static_cast<double>(numel(n.operand[i]->shape));
  switch (kind_of(n.op)) {
    case OpKind::pointwise:
    case OpKind::indexed:
    case OpKind::scan: return elements * cost_of(n.op);
    case OpKind::reduce: return read;
    case OpKind::contract: {
      const Shape& a = n.operand[0]->shape;
      return 2 * elements * static_cast<double>(a.size() ? a[a.size() - 1] : 1);
    }
    case OpKind::call: return kCallCost * (elements + read);
    default: return 0;
  }
}

/// Adds up what a run computes as the runs before did.
struct Repeated {
  double cost = 0, of_all = 0;    // additions
  double stored = 0;              // elements that would be kept in its place
  const Node* used = nullptr;     // the dearest value that something else is computed from
  std::vector<const Node*> made;  // the values that take most
};

Repeated repeated_in(const CapturedGraph& f, const Numbers& numbers, const Hashes& same) {
  Repeated r;
  const size_t n = f.values.size();
  std::vector<double> costs(n, 0);  // of same values, with all that they are computed from
  std::vector<uint8_t> kept(n, 1);  // 1: all inputs below stay, so the library keeps what is of them alone
  std::vector<uint8_t> has_inputs(n, 0);
  std::vector<uint8_t> used(n, 0);  // by a value that differs, or by the user
  std::unordered_set<uint64_t> seen;
  bool any_differs = false;
  for (uint32_t v = 0; v < n; ++v) {
    const Node& node = *f.values[v];
    if (!f.pending[v]) {
      has_inputs[v] = !is_source(node.op);
      kept[v] = is_source(node.op) || (node.buffer && node.buffer->unchanging());
      continue;
    }
    // Equal values are computed once a flush.
    const double own = same[v] && !seen.insert(same[v]).second ? 0 : cost_of_value(node);
    r.of_all += own;
    double below = own;
    for (int i = 0; i < node.arity; ++i) {
      const uint32_t o = numbers.of(node.operand[i]);
      if (o == kNone) continue;
      below += costs[o];
      kept[v] &= kept[o];
      has_inputs[v] |= has_inputs[o];
      if (same[v] == 0 && same[o] != 0 && f.pending[o]) used[o] = 1;
    }
    if (same[v] == 0) {
      any_differs = true;
      continue;
    }
    costs[v] = below;
    if (f.is_output(v)) used[v] = 1;
  }
  if (!any_differs) return {};  // the loop does all of it again: somebody measures, or wants that
  // Walks down from the values that are used, each same value once.
  double dearest = 0;
  std::vector<uint8_t> counted(n, 0);
  seen.clear();
  for (uint32_t v = 0; v < n; ++v) {
    if (!used[v] || (kept[v] && has_inputs[v])) continue;
    const auto elements = static_cast<double>(numel(f.values[v]->shape));
    if (costs[v] < kWorthStoring * elements) continue;
    r.stored += elements;
    if (costs[v] > dearest) dearest = costs[v], r.used = f.values[v];
    counted[v] = 1;
  }
  for (uint32_t v = static_cast<uint32_t>(n); v-- > 0;) {
    if (!counted[v] || !f.pending[v]) continue;
    const Node& node = *f.values[v];
    if (seen.insert(same[v]).second) r.cost += cost_of_value(node), r.made.push_back(&node);
    for (int i = 0; i < node.arity; ++i)
      if (const uint32_t o = numbers.of(node.operand[i]); o != kNone && same[o] != 0) counted[o] = 1;
  }
  std::stable_sort(r.made.begin(), r.made.end(),
                   [](const Node* a, const Node* b) { return cost_of_value(*a) > cost_of_value(*b); });
  return r;
}

bool is_worth_a_word(const Repeated& r) {
  return r.used && r.cost >= kDear && r.cost >= kMuchOfTheWork * r.of_all;
}

/// Returns "main.cpp:14 and main.cpp:15", the dearest first, each line once.
std::string lines_of(const std::vector<const Node*>& nodes) {
  constexpr size_t kFew = 3;
  std::vector<std::string> lines;
  for (const Node* n : nodes) {
    const std::string line = line_of(*n);
    if (n->site.line() && std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
    if (lines.size() == kFew) break;
  }
  return listed(lines);
}

constinit Mutex repeats_mutex;
using Seen = std::map<uint64_t, Hashes>;  // by number of the program
constinit Seen* all_seen = nullptr;       // never destroyed: tensors may outlive static destruction

/// Keeps of `seen` what this run has computed again. False: it is of no interest any more.
bool narrow(const Reviewed& r, Hashes& seen) {
  const Numbers numbers(r.captured);
  Hashes now = hashes_of(r.captured, numbers);
  if (r.runs == kFirstLook) {
    seen = std::move(now);
  } else {
    if (now.size() != seen.size()) return false;
    for (size_t v = 0; v < now.size(); ++v)
      if (now[v] != seen[v]) seen[v] = 0;
  }
  if (r.runs == kFirstLook) {  // how much differs is not known yet
    double cost = 0;
    for (uint32_t v = 0; v < seen.size(); ++v)
      if (r.captured.pending[v] && seen[v]) cost += cost_of_value(*r.captured.values[v]);
    return cost >= kDear;
  }
  return is_worth_a_word(repeated_in(r.captured, numbers, seen));
}

}  // namespace

void forget_repeats() {
  const Hold hold(repeats_mutex);
  if (!all_seen || !hold.intact()) all_seen = new Seen;
  else all_seen->clear();
}

void tell_of_repeats(const Reviewed& r, double share) {
  if (r.runs < kFirstLook || r.runs > kLastLook || r.captured.values.size() > kMostValues) return;
  Hashes seen;
  {
    const Hold hold(repeats_mutex);
    if (!all_seen || !hold.intact()) all_seen = new Seen;
    if (r.runs > kFirstLook) {
      const auto at = all_seen->find(r.program.number);
      if (at == all_seen->end()) return;
      seen = std::move(at->second);
      all_seen->erase(at);
    } else if (all_seen->size() >= kMostPrograms) {
      all_seen->clear();  // most are of programs that don't run any more
    }
  }
  if (!narrow(r, seen)) return;
  if (r.runs < kLastLook) {
    const Hold hold(repeats_mutex);
    (*all_seen)[r.program.number] = std::move(seen);
    return;
  }
  const Repeated repeated = repeated_in(r.captured, Numbers(r.captured), seen);
  if (share * repeated.cost / repeated.of_all < kMuchTimeOnRepeats) return;
  const Node& used = *repeated.used;
  give_hint("repeats", used.site,
            std::string(name_of(used.op)) + " at " + line_of(used) + " (" + to_string(used.shape) + " " +
                name_of(used.dtype) + ") was the same in all of the last " + std::to_string(r.runs) +
                " flushes at " + lazy::to_string(r.site) +
                ", and each of them computed it anew, with what is recorded at " + lines_of(repeated.made) +
                ": compute it once, before the loop, with eval(), and use that value in the loop");
}

}  // namespace lazy::jit
