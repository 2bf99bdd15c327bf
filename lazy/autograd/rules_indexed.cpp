// Holds the rules of loads and stores at computed indices, and of calls.
#include "jit/built_in/compress.hpp"
#include "jit/built_in/concat.hpp"
#include "jit/built_in/nn/recurrent.hpp"
#include "jit/built_in/select.hpp"
#include "jit/built_in/sort.hpp"
#include "lazy/autograd/call_rules.hpp"
#include "lazy/indexing/recording.hpp"

namespace lazy::detail {
namespace {

using D = const Differentiation&;
namespace calls = jit::calls;

int index_axis(D d) { return jit::axis_of(d.op.attributes); }
Bounds bounds_of(D d) { return jit::indexed_of(d.op.attributes).bounds; }

/// Reads `t` where the op's index says.
Term read_at(D d, const Term& t) {
  return d.term(load_at(d.name, t.handle(), d.op.operands[1], index_axis(d), bounds_of(d), d.site));
}
/// Combines `values` with `base` where the op's index says.
Term put_at(D d, const Term& base, const Term& values, Combine how) {
  return d.term(store_at(d.name, base.handle(), d.op.operands[1], values.handle(), index_axis(d), how,
                         bounds_of(d), d.site));
}

void gathered(D d) {
  d.to(0, [&] { return put_at(d, d.zeros_like(d.x(0)), d.g(), Combine::add); });
}

/// Gives the gradient to the last of several updates of one element: it stays, and so does its position.
void replaced(D d) {
  d.to(0, [&] { return put_at(d, d.g(), d.zeros_like(d.x(2)), Combine::set); });
  d.to(2, [&] {
    const Term position = d.index(index_axis(d), d.x(2).shape(), d.x(2)),
               none = d.term(d.filled(-1, int64, d.x(0).shape(), d.op.operands[0])),
               last = read_at(d, put_at(d, none, position, Combine::set));
    return where(last == position, read_at(d, d.g()), 0);
  });
}

void added(D d) {
  d.to(0, [&] { return d.g(); });
  d.to(2, [&] { return read_at(d, d.g()); });
}

/// An update's share is the product of the base and all other updates: y over the update, where none is 0.
void scatter_multiplied(D d) {
  const Term u = d.x(2), ones = d.term(d.filled(1, u.handle()->dtype, d.x(0).shape(), d.op.operands[0]));
  d.to(0, [&] { return d.g() * put_at(d, ones, u, Combine::multiply); });
  d.to(2, [&] {
    const Term is_zero = u == 0, rest = put_at(d, d.x(0), where(is_zero, 1, u), Combine::multiply);
    const Term zeros =
        put_at(d, d.zeros_like(d.x(0)), where(is_zero, u.number(1), u.number(0)), Combine::add);
    const Term g = read_at(d, d.g() * rest), n = read_at(d, zeros);
    return where(is_zero, where(n == 1, g, 0), where(n == 0, g / u, 0));
  });
}

/// The base and the updates that equal the result share.
void scatter_extreme(D d) {
  const Term u = d.x(2), y = d.y(), base = d.x(0), one = y.number(1), zero = y.number(0);
  const Term taken = where(u == read_at(d, y), one, zero), stays = where(base == y, one, zero);
  const Term share = d.g() / put_at(d, stays, taken, Combine::add);
  d.to(0, [&] { return where(base == y, share, 0); });
  d.to(2, [&] { return read_at(d, share) * taken; });
}

void scattered(D d) {
  switch (jit::indexed_of(d.op.attributes).combine) {
    case Combine::set: return replaced(d);
    case Combine::add: return added(d);
    case Combine::multiply: return scatter_multiplied(d);
    case Combine::min:
    case Combine::max: return scatter_extreme(d);
  }
}

constexpr RuleRow kIndexedRules[] = {{Op::gather, gathered}, {Op::scatter, scattered}};

// Calls.

/// Values go back to where the indices, the second output, say they were.
void sorted(D d) {
  d.to(0, [&] { return d.added_at(0, d.g(0), d.results[1], d.x(0).rank() - 1); });
}

/// Rows go back to where the mask is true: the same call tells without the rows.
void compressed(D d) {
  d.to(2, [&] {
    const Handle* const mask_and_count[] = {&d.op.operands[0], &d.op.operands[1]};
    const Handle at = detail::record_call(d.op.call(), mask_and_count, d.site)[0];
    const Term g = d.g();
    const Shape column = along_axis(g.rank(), 0, g.extent(0));
    return d.added_at(2, g, d.broadcast(d.reshape(at, column), g.shape()), 0);
  });
}

void joined(D d) {
  const int axis = d.op.call().as<calls::ConcatAttributes>().axis;
  int64_t at = 0;
  for (size_t i = 0; i < d.op.operands.size(); ++i) {
    const int64_t n = d.x(i).shape()[axis];
    d.to(i, [&] { return part(d.g(), axis, at, n); });
    at += n;
  }
}

constexpr CallRow kCalls[] = {{&calls::kSort, sorted},
                              {&calls::kSelect, sorted},
                              {&calls::kCompress, compressed},
                              {&calls::kConcat, joined},
                              {&calls::kRecurrent, recurrent_rule},
                              {&calls::kRecurrentBackward, recurrent_backward_rule}};

}  // namespace

std::span<const RuleRow> indexed_rules() { return kIndexedRules; }

std::span<const CallRow> indexed_call_rules() { return kCalls; }

}  // namespace lazy::detail
