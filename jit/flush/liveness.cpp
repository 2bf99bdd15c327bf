#include "jit/flush/liveness.hpp"

#include <algorithm>
#include <memory>

#include "jit/calls/call.hpp"
#include "jit/core/bytes.hpp"
#include "support/config.hpp"
#include "support/metrics.hpp"

namespace lazy::jit {
namespace {

constexpr uint32_t kSamples = 8;   // flushes of a program that are observed
constexpr uint32_t kUnread = 3;    // nodes that must have died unread before a value is dropped
constexpr uint32_t kHoarded = 64;  // with more nodes than this alive, their recipes may keep anything alive
constexpr uint32_t kRest = 31;     // flushes until values that were too small are considered again
constexpr uint32_t kShort = 256;   // nodes; a longer recipe is charged for its nodes' own memory
constexpr size_t kFew = 1024;      // values of a graph in which each input is compared with every other
constexpr size_t kSets = 6;        // sets of values that a program may drop in its life
constexpr uint64_t kTooMuch = uint64_t{1} << 62;

uint64_t bytes_of(const Node& n) { return lazy::bytes_of(n.shape, n.dtype); }

// Returns the bytes that are not stored if a value is dropped: a view takes no more than its operand, which
// may be much smaller.
uint64_t saved_by(const Node& n) {
  if (kind_of(n.op) != OpKind::view) return bytes_of(n);
  return n.operand[0]->ready() ? 0 : std::min(bytes_of(n), bytes_of(*n.operand[0]));
}

// Returns the bytes that stay alive only because a recipe reads this input. Memory to which the user has a
// handle stays anyway, perhaps through another view. The user's own memory may change once all its readers
// have run: it counts as too much, whatever its size.
uint64_t kept_alive(const CapturedGraph& f, const Node& input) {
  if (kind_of(input.op) == OpKind::constant || kind_of(input.op) == OpKind::iota || !input.buffer) return 0;
  if (input.buffer->borrowed()) return kTooMuch;
  if (input.handles() != 0) return 0;
  uint32_t ours = 1;
  const uint32_t all = input.buffer->use_count();
  if (all > 1) {
    if (f.values.size() > kFew) return input.buffer->bytes();  // comparing takes too long
    ours = 0;
    for (uint32_t v = 0; v < f.values.size() && ours < all; ++v)
      ours += !f.pending[v] && f.values[v]->buffer.get() == input.buffer.get() && f.values[v]->handles() == 0;
  }
  return ours < all ? 0 : input.buffer->bytes();
}

bool may_be_dropped(const Node& n, const Observed& o) {
  return o.unread() >= kUnread && !o.needed() && o.alive() <= kHoarded && watch::word(n) == 0;
}

}  // namespace

Liveness::~Liveness() {
  for (const Candidate& c : candidates_) c.observed->release();
}

// Begins to observe, unless dropping a value would change bits: that is so where values are rounded only when
// they are stored, or products are contracted only where nobody else needs them.
void Liveness::begin(const CapturedGraph& f) {
  const Hold hold(lock_);
  if (!hold.intact()) std::construct_at(&candidates_);
  if (begun_.load(std::memory_order_relaxed)) return;
  bool able = !f.contracts();
  for (const Node* n : f.values) able &= f.exact_casts() || !is_half(n->dtype);
  candidates_.clear();  // left by an attempt for which there was no memory
  if (able) candidates_.reserve(f.outputs);
  for (uint32_t v = 0; able && v < f.values.size(); ++v)
    if (f.is_output(v)) candidates_.push_back({v, new Observed});
  able_.store(able, std::memory_order_relaxed);
  begun_.store(true, std::memory_order_release);
}

void Liveness::choose(CapturedGraph& f, std::vector<uint32_t>& dropped) {
  if (!begun_.load(std::memory_order_acquire)) return begin(f);
  if (!able_.load(std::memory_order_relaxed)) return;
  const size_t first = dropped.size();
  if (const uint32_t rest = resting_.load(std::memory_order_relaxed); rest > 0)
    return resting_.store(rest - 1, std::memory_order_relaxed);
  const uint64_t smallest = std::max<uint64_t>(1, config::get().liveness_bytes);
  bool too_small = false;
  for (const Candidate& c : candidates_) {
    const Node& n = *f.values[c.value];
    if (!may_be_dropped(n, *c.observed)) continue;
    if (saved_by(n) >= smallest) dropped.push_back(c.value);
    else too_small = true;
  }
  if (dropped.size() == first) {
    if (too_small) resting_.store(kRest, std::memory_order_relaxed);
    return;
  }

  // Sums what each recipe keeps alive, from the inputs on. An input with several readers counts for each: the
  // sum is at most too much.
  f.find_words();
  std::vector<uint64_t>& costs = f.costs;
  costs.assign(f.values.size(), 0);
  size_t next = first, kept = first;
  uint64_t saved = 0;
  for (uint32_t v = 0; v < f.values.size(); ++v) {
    if (!f.pending[v]) {
      costs[v] = kept_alive(f, *f.values[v]);
      continue;
    }
    uint64_t cost = 0;
    for (const uint32_t o : f.key_value(v).operands) cost = std::min(kTooMuch, cost + costs[o]);
    if (f.values[v]->op == Op::call && is_run_once(*f.values[v])) cost = kTooMuch;
    cost = std::min(cost, kTooMuch);
    const bool asked = next < dropped.size() && dropped[next] == v;
    next += asked;
    const uint64_t own = asked ? saved_by(*f.values[v]) : 0;
    const bool short_enough = v < kShort || saved + own >= v * sizeof(Node);
    if (asked && cost <= own && short_enough) {
      dropped[kept++] = v;
      saved += own;
    } else if (f.is_output(v)) {
      cost = 0;  // stored: recipes end here
    }
    costs[v] = cost;
  }
  dropped.resize(kept);
  if (kept > first && !seen_before(dropped)) dropped.resize(first);
}

bool Liveness::seen_before(const std::vector<uint32_t>& dropped) {
  uint64_t hash = 0;
  for (uint32_t v : dropped) hash = (hash ^ v) * 0x9E3779B97F4A7C15ull + (hash >> 29);
  const Hold hold(lock_);
  if (!hold.intact()) std::construct_at(&chosen_);
  if (std::find(chosen_.begin(), chosen_.end(), hash) != chosen_.end()) return true;
  if (chosen_.size() >= kSets) return false;
  chosen_.push_back(hash);
  return true;
}

void Liveness::watch(const CapturedGraph& f, const std::vector<uint32_t>& dropped) noexcept {
  if (!begun_.load(std::memory_order_acquire) || !able_.load(std::memory_order_relaxed)) return;
  if (!dropped.empty()) {
    uint64_t bytes = 0;
    size_t next = 0;
    for (const Candidate& c : candidates_) {
      if (next == dropped.size()) break;
      if (c.value != dropped[next]) continue;
      ++next;
      Node& n = *f.values[c.value];
      watch::begin(n, *c.observed);
      bytes += saved_by(n);
    }
    metric::add(MetricCounter::values_dropped, dropped.size());
    metric::add(MetricCounter::bytes_dropped, bytes);
  }
  if (sampled_.load(std::memory_order_relaxed) >= kSamples) return;
  sampled_.fetch_add(1, std::memory_order_relaxed);
  for (const Candidate& c : candidates_) {
    Node& n = *f.values[c.value];
    const uintptr_t w = watch::word(n);
    if (w & watch::kNeeded) c.observed->need();
    else if (w == 0 && !c.observed->needed()) watch::begin(n, *c.observed);
  }
}

}  // namespace lazy::jit
