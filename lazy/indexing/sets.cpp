#include "lazy/indexing/sets.hpp"

#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/recording.hpp"
#include "lazy/indexing/searching.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/recorder.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/running.hpp"
#include "lazy/ops/sorting.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Holds the flattened tensor, sorted, and where a new element begins.
struct Runs {
  Handle sorted, order;  // `order`: positions in the flattened tensor
  Handle begins;         // bool
  int64_t count;         // new elements. It was read
};

Runs runs_of(const Recorder& r, const Handle& h, bool nan_is_one) {
  const int64_t n = numel(h->shape);
  const Sorted all = sort(r.arg(r.reshape(h, {n})));
  Runs runs{all.values.handle(), all.indices.handle(), r.filled(true, bool_, {n}, h), 0};
  if (n > 1) {
    const Handle here = r.part(runs.sorted, 0, 1, n - 1), before = r.part(runs.sorted, 0, 0, n - 1);
    Handle differs = r.op(Op::not_equal, here, before);
    if (is_float(h->dtype) && nan_is_one) differs = r.both(differs, r.opposite(r.op(Op::isnan, before)));
    runs.begins = r.replaced(runs.begins, differs, 0, 1);
  }
  runs.count = count_of(r.name, runs.begins, r.site);
  return runs;
}

/// Returns the first element of each run.
Handle firsts(const Recorder& r, const Runs& runs) {
  return selected_rows(r.name, runs.sorted, runs.begins, runs.count, r.site);
}

/// Returns how many elements each run has, from where they begin.
Handle lengths(const Recorder& r, const Runs& runs, const Handle& begins) {
  const int64_t n = runs.sorted->shape[0];
  Handle next = r.filled(n, int64, {runs.count}, begins);
  if (runs.count > 1) next = r.replaced(next, r.part(begins, 0, 1, runs.count - 1), 0, 0);
  return r.op(Op::subtract, next, begins);
}

/// Returns the number of the run of each element of the tensor.
Handle numbers(const Recorder& r, const Runs& runs, const Shape& shape) {
  const Handle number = r.op(Op::subtract, cumsum(r.arg(r.as(int64, runs.begins))).handle(), 1);
  const Handle none = r.filled(0, int64, number->shape, number);
  return r.reshape(store_at(r.name, none, runs.order, number, 0, Combine::set, Bounds::mask, r.site), shape);
}

Handle different(const Recorder& r, const Handle& h) { return firsts(r, runs_of(r, h, true)); }

/// True where an element of x is one of `among`, both of one dtype.
Handle is_among(const Recorder& r, const Handle& x, const Handle& among) {
  const int64_t n = numel(among->shape);
  if (n == 0) return r.filled(false, bool_, x->shape, x);
  const Handle sorted = sort(r.arg(r.reshape(among, {n}))).values.handle();
  const Handle at = searchsorted(r.arg(sorted), r.arg(x)).handle();
  return r.op(Op::equal, take(r.arg(sorted), r.arg(at), 0, Bounds::clip).handle(), x);
}

/// Returns the different elements of a that are, or are not, in b.
Tensor filtered(const char* name, Arg& a, Arg& b, bool in_b) {
  const Recorder r{name, a.site()};
  const DType t = common_type(name, {&a, &b});
  const Handle x = Operand(name, a, t).take(), y = Operand(name, b, t).take();
  check_devices(name, {&x, &y}, r.site);
  const Handle each = different(r, x);
  Handle keep = is_among(r, each, y);
  if (!in_b) keep = r.opposite(keep);
  return r.tensor(selected_rows(name, each, keep, count_of(name, keep, r.site), r.site));
}

}  // namespace

Tensor unique(Arg x) {
  const Recorder r{"unique", x.site()};
  return r.tensor(different(r, Operand(r.name, x).take()));
}

Tensor unique_values(Arg x) {
  const Recorder r{"unique_values", x.site()};
  return r.tensor(firsts(r, runs_of(r, Operand(r.name, x).take(), false)));
}

UniqueCounts unique_counts(Arg x) {
  const Recorder r{"unique_counts", x.site()};
  const Runs runs = runs_of(r, Operand(r.name, x).take(), false);
  const Handle at = positions_of(r.name, runs.begins, runs.count, r.site);
  return {r.tensor(firsts(r, runs)), r.tensor(lengths(r, runs, at))};
}

UniqueInverse unique_inverse(Arg x) {
  const Recorder r{"unique_inverse", x.site()};
  const Handle h = Operand(r.name, x).take();
  const Runs runs = runs_of(r, h, false);
  return {r.tensor(firsts(r, runs)), r.tensor(numbers(r, runs, h->shape))};
}

UniqueAll unique_all(Arg x) {
  const Recorder r{"unique_all", x.site()};
  const Handle h = Operand(r.name, x).take();
  const Runs runs = runs_of(r, h, false);
  const Handle at = positions_of(r.name, runs.begins, runs.count, r.site);
  const Handle first = selected_rows(r.name, runs.order, runs.begins, runs.count, r.site);
  return {r.tensor(firsts(r, runs)), r.tensor(first), r.tensor(numbers(r, runs, h->shape)),
          r.tensor(lengths(r, runs, at))};
}

Tensor isin(Arg x, Arg among, bool invert) {
  const Recorder r{"isin", x.site()};
  const DType t = common_type(r.name, {&x, &among});
  const Handle h = Operand(r.name, x, t).take(), y = Operand(r.name, among, t).take();
  check_devices(r.name, {&h, &y}, r.site);
  const Handle found = is_among(r, h, y);
  return r.tensor(invert ? r.opposite(found) : found);
}

Tensor setdiff1d(Arg a, Arg b) { return filtered("setdiff1d", a, b, false); }
Tensor intersect1d(Arg a, Arg b) { return filtered("intersect1d", a, b, true); }

Tensor union1d(Arg a, Arg b) {
  const Recorder r{"union1d", a.site()};
  const DType t = common_type(r.name, {&a, &b});
  const Handle x = Operand(r.name, a, t).take(), y = Operand(r.name, b, t).take();
  check_devices(r.name, {&x, &y}, r.site);
  const Handle all =
      concat({r.tensor(r.reshape(x, {numel(x->shape)})), r.tensor(r.reshape(y, {numel(y->shape)}))}, 0,
             r.site)
          .handle();
  return r.tensor(different(r, all));
}

}  // namespace lazy
