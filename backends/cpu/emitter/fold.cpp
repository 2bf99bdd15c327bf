// Writes the folding of partial results, as templates.
#include "backends/cpu/emitter/reduction_state.hpp"

namespace lazy::cpu_backend {
using vir::Builder;
using vir::Val;
namespace {

Val slot(Builder& b, const AccumulatorPlaces& a, uint16_t index) {
  return b.input(a.info.type, Slot{Slot::Kind::acc, index}.pack());
}

/// Calls f with each reduction, its first accumulator and how many it has.
template <class F>
void each_reduction(const jit::loop::LoopKernel& k, const ReductionState& s, F&& f) {
  for (size_t r = 0; r < k.reductions.size(); ++r) {
    const size_t first = s.first_of(r);
    size_t n = 1;
    while (first + n < s.acc.size() && s.acc[first + n].info.reduction == r) ++n;
    f(k.reductions[r], first, n);
  }
}

/// Combines lanes l and l + width / 2, of a width of `lanes` first, until `to` are left.
void halve(Builder& b, const jit::loop::Reduction& r, std::vector<Val>& v, int lanes, int to) {
  for (int width = lanes; width > to; width /= 2) {
    std::vector<Val> upper;
    for (const Val& x : v) upper.push_back(b.push({kUpperHalf, x.type, static_cast<uint64_t>(width), x.id}));
    v = combine(b, r, v, upper);
  }
}

}  // namespace

Template fold_template(const jit::loop::LoopKernel& k, const ReductionState& s, int lanes, int to) {
  Builder b;
  Template t;
  each_reduction(k, s, [&](const jit::loop::Reduction& r, size_t first, size_t n) {
    std::vector<std::vector<Val>> v(static_cast<size_t>(s.acc[first].partials));
    for (size_t p = 0; p < v.size(); ++p)
      for (size_t i = 0; i < n; ++i)
        v[p].push_back(slot(b, s.acc[first + i], PartialSlot{first + i, static_cast<int>(p)}.pack()));
    for (size_t half = v.size() / 2; half > 0; half /= 2)
      for (size_t l = 0; l < half; ++l) v[l] = combine(b, r, v[l], v[l + half]);
    halve(b, r, v[0], lanes, to);
    for (size_t i = 0; i < n; ++i)
      t.updates.push_back({PartialSlot{first + i, PartialSlot::kFolded}.pack(), v[0][i].id});
  });
  t.code = std::move(b.code);
  return t;
}

Template halve_template(const jit::loop::LoopKernel& k, const ReductionState& s, int lanes, int to) {
  Builder b;
  Template t;
  each_reduction(k, s, [&](const jit::loop::Reduction& r, size_t first, size_t n) {
    std::vector<Val> v;
    for (size_t i = 0; i < n; ++i)
      v.push_back(slot(b, s.acc[first + i], PartialSlot{first + i, PartialSlot::kFolded}.pack()));
    halve(b, r, v, lanes, to);
    for (size_t i = 0; i < n; ++i)
      t.updates.push_back({PartialSlot{first + i, PartialSlot::kFolded}.pack(), v[i].id});
  });
  t.code = std::move(b.code);
  return t;
}

Template fold_rows_template(const jit::loop::LoopKernel& k, const ReductionState& s, int lanes, int width,
                            int level) {
  Builder b;
  Template t;
  const auto part = [](int p) { return PartialSlot{0, p}.pack(); };
  const auto joined = [&](vir::OpCode op, Val x, Val y, bool both) {
    const Val low = b.push({op, x.type, 0, x.id, y.id});
    if (!both) return low;  // the upper ones are empty
    return combine(b, k.reductions[0], {low}, {b.push({op, x.type, 1, x.id, y.id})})[0];
  };
  const auto update = [&](int p, Val v) { t.updates.push_back({part(p), v.id}); };
  if (level == 0) {
    Val row[kRows];
    for (int r = 0; r < kRows; ++r) row[r] = slot(b, s.acc[0], part(r));
    for (int r = 0; r < kRows / 2; ++r)
      update(r, joined(kHalves, row[2 * r], row[2 * r + 1], width > lanes / 2));
  } else if (level == 1) {
    const Val first = slot(b, s.acc[0], part(0)), second = slot(b, s.acc[0], part(1));
    const Val all = joined(kQuarters, first, second, width > lanes / 4);
    update(0, b.push({kTranspose, all.type, 0, all.id}));
  } else {
    std::vector<Val> v{slot(b, s.acc[0], part(0))};
    const int now = lanes >> (level - 2);
    halve(b, k.reductions[0], v, now, now / 2);
    update(0, v[0]);
  }
  t.code = std::move(b.code);
  return t;
}

Template combine_template(const jit::loop::LoopKernel& k, const ReductionState& s) {
  Builder b;
  Template t;
  each_reduction(k, s, [&](const jit::loop::Reduction& r, size_t first, size_t n) {
    std::vector<Val> x, y;
    for (size_t i = 0; i < n; ++i) {
      x.push_back(slot(b, s.acc[first + i], PartialSlot{first + i, PartialSlot::kTotal}.pack()));
      y.push_back(slot(b, s.acc[first + i], PartialSlot{first + i, PartialSlot::kFolded}.pack()));
    }
    const std::vector<Val> v = combine(b, r, x, y);
    for (size_t i = 0; i < n; ++i)
      t.updates.push_back({PartialSlot{first + i, PartialSlot::kTotal}.pack(), v[i].id});
  });
  t.code = std::move(b.code);
  return t;
}

}  // namespace lazy::cpu_backend
