// Finds loops that were recorded iteration by iteration again in the trace.
//
// Values v and v + p are alike if they are the same op on operands that are either the same value or p apart.
// A long enough run of values, each alike the one a period before it, is a loop; where an iteration begins is
// chosen so that as few values as possible pass from one to the next.
#include <algorithm>

#include "jit/core/rules.hpp"
#include "jit/passes/fusion_draft.hpp"
#include "support/flat_map.hpp"
#include "support/hash.hpp"

namespace lazy::jit {
namespace {

// A loop has at least so many iterations: with fewer little code is saved.
constexpr uint32_t kFewest = 4;
// A loop has at least so many values in all iterations: less is compiled as straight-line code.
constexpr uint32_t kWorthIt = 96;
// An iteration has at most so many values: a longer one would be cut into several kernels.
constexpr uint32_t kLongest = 4096;
// This many distances are tried, the commonest first: each takes a pass over all values.
constexpr size_t kPeriodsTried = 6;
// All iterations have at most so many literals, which are arguments of each launch.
constexpr uint32_t kMostScalars = 1u << 15;

class Finder {
 public:
  explicit Finder(const FusionDraft& d)
      : t_(d.trace), facts_(d.facts), count_(static_cast<uint32_t>(t_.captured->values.size())) {}

  std::vector<TraceLoop> run() {
    std::vector<TraceLoop> found;
    if (count_ < kWorthIt) return found;
    make_marks();
    for (const uint32_t period : likely_periods())
      for (const TraceLoop& r : with_period(period)) found.push_back(r);
    // The longest first; of what overlaps only one stays.
    std::stable_sort(found.begin(), found.end(), [](const TraceLoop& a, const TraceLoop& b) {
      return (a.trips - 1) * a.period > (b.trips - 1) * b.period;
    });
    std::vector<TraceLoop> kept;
    for (const TraceLoop& r : found)
      if (std::none_of(kept.begin(), kept.end(),
                       [&](const TraceLoop& k) { return r.first < k.end() && k.first < r.end(); }))
        kept.push_back(r);
    std::sort(kept.begin(), kept.end(),
              [](const TraceLoop& a, const TraceLoop& b) { return a.first < b.first; });
    return kept;
  }

 private:
  const Value& at(uint32_t v) const { return t_.values[v]; }

  // By value: a mark of what it is apart from its operands; kNever if it can't be repeated, kDead if nothing
  // reads it.
  static constexpr uint64_t kNever = 0, kDead = 1;
  void make_marks() {
    marks_.resize(count_);
    for (uint32_t v = 0; v < count_; ++v) {
      const Value& x = at(v);
      const OpKind k = kind_of(x.op);
      if (!facts_[v].needed) marks_[v] = kDead;
      else if (k == OpKind::constant && size_of(compute_type(x.dtype)) < 4) marks_[v] = kNever;
      else if (k == OpKind::pointwise || k == OpKind::constant)
        marks_[v] = 2 + (static_cast<uint64_t>(x.op) | static_cast<uint64_t>(x.dtype) << 8 |
                         static_cast<uint64_t>(x.accuracy) << 14 | static_cast<uint64_t>(x.rank) << 16 |
                         static_cast<uint64_t>(x.ones) << 24);
    }
  }

  // Returns the distances at which sequences of marks come again, the commonest first.
  std::vector<uint32_t> likely_periods() const {
    constexpr uint32_t kSequence = 6;
    FlatMap<uint32_t> latest, distances;
    latest.reserve(count_);
    std::vector<std::pair<uint32_t, uint32_t>> counted;  // times, distance
    for (uint32_t v = kSequence; v < count_; ++v) {
      uint64_t h = 0;
      for (uint32_t i = 0; i < kSequence; ++i) h = mix(h, marks_[v - i]);
      const auto [before, fresh] = latest.try_emplace(h >> 1, v);
      const uint32_t distance = v - before;
      before = v;
      if (fresh || distance > kLongest) continue;
      const auto [place, first] = distances.try_emplace(distance, static_cast<uint32_t>(counted.size()));
      if (first) counted.emplace_back(0, distance);
      ++counted[place].first;
    }
    std::stable_sort(counted.begin(), counted.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<uint32_t> periods;
    for (const auto& [times, distance] : counted) {
      if (periods.size() >= kPeriodsTried || times < kWorthIt / 2) break;
      // A loop that goes on with the value of two iterations before is one of twice the period.
      for (const uint32_t p : {distance, 2 * distance})
        if (std::find(periods.begin(), periods.end(), p) == periods.end()) periods.push_back(p);
    }
    return periods;
  }

  // Sets bit i of the result if operand i is a period apart (else it is the same). kUnlike: not alike.
  static constexpr uint8_t kUnlike = 0xff;
  uint8_t alike(uint32_t v, uint32_t period) const {
    const uint32_t w = v - period;
    if (marks_[v] != marks_[w] || marks_[v] == kNever) return kUnlike;
    if (marks_[v] == kDead) return 0;
    const Value &x = at(v), &y = at(w);
    uint8_t moved = 0;
    for (int i = 0; i < x.arity; ++i) {
      const uint32_t a = x.operand[i], b = y.operand[i];
      if (a == b) continue;
      if (a - b != period || a >= count_ || at(a).dtype != at(b).dtype) return kUnlike;
      const bool constants = at(a).op == Op::constant && at(b).op == Op::constant;
      if (!constants && (at(a).extents != x.extents || at(b).extents != x.extents)) return kUnlike;
      moved = static_cast<uint8_t>(moved | 1 << i);
    }
    return moved;
  }

  std::vector<TraceLoop> with_period(uint32_t period) const {
    std::vector<TraceLoop> found;
    std::vector<uint8_t> moved(count_, kUnlike);
    uint32_t begin = period;
    const auto close = [&](uint32_t end) {
      if (end >= begin + (kFewest - 1) * period)
        if (const TraceLoop r = aligned(begin - period, end, period, moved); r.trips) found.push_back(r);
    };
    for (uint32_t v = period; v < count_; ++v) {
      moved[v] = alike(v, period);
      const bool goes_on = moved[v] != kUnlike && (v < begin + period || moved[v] == moved[v - period]);
      if (goes_on) continue;
      close(v);
      begin = moved[v] == kUnlike ? v + 1 : v;
    }
    close(count_);
    return found;
  }

  /// Returns the best loop in the run [begin, end), whose first period is the pattern of the others; no
  /// trips: none.
  TraceLoop aligned(uint32_t begin, uint32_t end, uint32_t period, const std::vector<uint8_t>& moved) const {
    // Each value is needed until its last reader; an iteration that begins in between is passed by it.
    std::vector<uint32_t> reach(period, 0);
    uint32_t fixed = 0;  // operands that stay the same come before the loop
    uint32_t extents = 0;
    bool any = false;
    for (uint32_t v = begin + period; v < begin + 2 * period; ++v) {
      const Value& x = at(v);
      if (marks_[v] == kDead) continue;
      if (kind_of(x.op) == OpKind::pointwise) {
        if (any && x.extents != extents) return {};
        extents = x.extents;
        any = true;
      }
      for (int i = 0; i < x.arity; ++i) {
        const uint32_t o = x.operand[i];
        if (!(moved[v] >> i & 1)) {
          fixed = std::max(fixed, o + 1);
          continue;
        }
        uint32_t& far = reach[(o + period - begin) % period];
        far = std::max(far, v - o);
        if (v - o > 2 * period) return {};
      }
    }
    if (!any) return {};
    std::vector<int> passing(period + 1, 0), twice(period + 1, 0);
    const auto mark = [&](std::vector<int>& in, uint32_t first, uint32_t length) {  // [first, first + length)
      for (uint32_t i = 0; i < length; ++i) ++in[(first + i) % period];
    };
    for (uint32_t j = 0; j < period; ++j) {
      mark(passing, j + 1, std::min(reach[j], period));
      if (reach[j] > period) mark(twice, j + 1, reach[j] - period);
    }
    uint32_t best = period;
    for (uint32_t phase = 0; phase < period; ++phase)
      if (twice[phase] == 0 && (best == period || passing[phase] < passing[best])) best = phase;
    if (best == period) return {};
    uint32_t first = begin + best;
    while (first < fixed) first += period;
    return cut(first, end, period);
  }

  /// Cuts the loop so that only values of the last iteration are read from outside.
  TraceLoop cut(uint32_t first, uint32_t end, uint32_t period) const {
    uint32_t scalars = 0;
    if (first + period > end) return {};
    for (uint32_t v = first; v < first + period; ++v) scalars += facts_[v].needed && at(v).op == Op::constant;
    uint32_t trips = (end - first) / period;
    if (scalars) trips = std::min(trips, kMostScalars / scalars);
    end = first + trips * period;
    uint32_t earliest = end;
    for (uint32_t v = first; v < end; ++v)
      if (facts_[v].needed && at(v).output) {
        earliest = v;
        break;
      }
    for (uint32_t v = end; v < t_.values.size(); ++v)
      if (facts_[v].needed)
        for (int i = 0; i < at(v).arity; ++i)
          if (const uint32_t o = at(v).operand[i]; o >= first) earliest = std::min(earliest, o);
    if (earliest < end) trips = std::min(trips, (earliest - first) / period + 1);
    if (trips < kFewest || trips * period < kWorthIt) return {};
    return {first, period, trips};
  }

  const Trace& t_;
  const std::vector<ValueFacts>& facts_;
  const uint32_t count_;
  std::vector<uint64_t> marks_;
};

}  // namespace

std::vector<TraceLoop> find_rolled_loops(const FusionDraft& d) { return Finder(d).run(); }

}  // namespace lazy::jit
