#include "lazy/core/special_values.hpp"
#include "lazy/formula/formula.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/searching.hpp"
#include "lazy/nn/functional/linear.hpp"

namespace lazy {
namespace {
using namespace detail;

Handle integers(const Formula& f, const char* what, const Handle& h) {
  if (!is_int(h->dtype)) f.fail<DtypeError>(std::string(what) + " are integers, not " + name_of(h->dtype));
  return f.as(int64, h);
}

/// Holds the rows of all bags, (n, width), and the bag of each: (n).
struct Bags {
  const Formula& f;
  int64_t count, width;
  Term rows;
  Handle bag, seen;  // seen: (n, 1), false for rows that don't count

  Handle combined(const Handle& from, const Term& values, Combine how) const {
    const Handle at = f.reshape(bag, {bag->shape[0], 1});
    if (numel(values.shape()) == 0 || numel(from->shape) == 0) return from;
    return put_along_axis(f.arg(from), f.arg(at), f.arg(values.handle()), 0, how, Bounds::mask).handle();
  }
  /// Returns sums of values (n, m) by bag: (bags, m).
  Term sums(const Term& values) const {
    const Term kept = where(f.term(seen), values, 0.0);
    return f.term(combined(f.filled(0, f.work, {count, values.extent(1)}, bag), kept, Combine::add));
  }
  Term numbers() const { return sums(f.term(f.filled(1, f.work, {bag->shape[0], 1}, bag))); }
  Term largest() const {
    const Term kept = where(f.term(seen), rows, -kInfinity);
    const Term y = f.term(combined(f.filled(-kInfinity, f.work, {count, width}, bag), kept, Combine::max));
    return where(numbers() == 0.0, 0.0, y);
  }
};

/// Returns the bag of each of n ids: the last one that begins at it or before.
Handle bag_of_each(const Formula& f, const Handle& offsets, int64_t bags, int64_t n) {
  if (bags == 0) return f.filled(0, int64, {n}, offsets);
  const Handle starts = f.part(offsets, 0, 0, bags);
  const Handle index = f.Recorder::index(0, {n}, offsets);
  return f.op(Op::subtract, searchsorted(f.arg(starts), f.arg(index), true).handle(), 1);
}

}  // namespace

Tensor embedding_bag(Arg ids, Arg weight, const BagOptions& o) {
  const Formula f("embedding_bag", {&weight}, {&o.per_sample_weights});
  const Handle at = integers(f, "ids", Operand(f.name, ids).take());
  const Term table = f.term(weight);
  const int rank = at->shape.size();
  if (table.rank() != 2) f.fail<ShapeError>("takes weights of 2 axes, not " + to_string(table.shape()));
  if ((rank != 1 && rank != 2) || o.offsets.defined() != (rank == 1))
    f.fail<ShapeError>("takes ids (n) with offsets or (bags, n) without, not " + to_string(at->shape));
  const int64_t n = numel(at->shape), width = table.extent(1);
  if (table.extent(0) == 0 && n > 0) f.fail<IndexError>("no id is in range of no rows");
  if (o.per_sample_weights.defined() && o.mode != Bag::sum)
    f.fail<Error>("per_sample_weights are for Bag::sum only");
  int64_t bags = at->shape[0];
  Handle bag;
  if (rank == 1) {
    const Handle offsets = integers(f, "offsets", o.offsets.handle());
    if (offsets->shape.size() != 1 || (o.include_last_offset && offsets->shape[0] == 0))
      f.fail<ShapeError>("offsets " + to_string(offsets->shape) + " for ids " + to_string(at->shape));
    bags = offsets->shape[0] - (o.include_last_offset ? 1 : 0);
    bag = bag_of_each(f, offsets, bags, n);
  } else {
    bag = f.reshape(f.Recorder::index(0, at->shape, at), {n});
  }
  Composite whole(f.name, {&at, &table.handle(), &o.per_sample_weights.handle()}, f.site);
  const Handle flat = f.reshape(at, {n});
  Term rows = n == 0 ? part(table, 0, 0, 0)
                     : f.term(take(f.arg(table.handle()), f.arg(flat), 0, Bounds::strict).handle());
  if (o.per_sample_weights.defined()) {
    const Term w = f.term(o.per_sample_weights);
    if (w.shape() != at->shape)
      f.fail<ShapeError>("per_sample_weights " + to_string(w.shape()) + " for ids " + to_string(at->shape));
    rows = rows * reshape(w, {n, 1});
  }
  const Handle seen =
      f.reshape(f.op(Op::not_equal, flat, o.padding_idx < 0 ? INT64_MIN : o.padding_idx.value), {n, 1});
  const Bags b{f, bags, width, rows, bag, seen};
  if (o.mode == Bag::max) return f.finish(whole, b.largest());
  const Term total = b.sums(rows);
  return f.finish(whole, o.mode == Bag::sum ? total : total / maximum(b.numbers(), 1.0));
}

}  // namespace lazy
