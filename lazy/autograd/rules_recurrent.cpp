// Has the derivatives of recurrent layers. The first is a call that goes back through the steps; gradients of
// weights, which need all steps at once, are products around it. Those of that call are of the steps,
// recorded one by one.
#include "jit/built_in/nn/recurrent.hpp"
#include "lazy/autograd/backward.hpp"
#include "lazy/autograd/backwards.hpp"
#include "lazy/core/operands.hpp"
#include "lazy/formula/recurrent_steps.hpp"

namespace lazy::detail {
namespace {

using D = const Differentiation&;
using jit::calls::gates_of;
using jit::calls::kRecurrentBackward;
using jit::calls::RecurrentAttributes;
using jit::calls::RecurrentKind;

/// Joins two along an axis.
Term joined(D d, const Term& a, const Term& b, int axis) {
  const int64_t n = a.extent(axis);
  const Handle all =
      d.filled(0, a.handle()->dtype, with_extent(a.shape(), axis, n + b.extent(axis)), a.handle());
  return d.term(d.replaced(d.replaced(all, a.handle(), axis, 0), b.handle(), axis, n));
}

/// Returns the sum over steps and sequences of the products of a (T, N, i) and b (T, N, j): (i, j). The
/// smaller one is what is transposed.
Term products(D d, const Term& a, const Term& b) {
  if (b.extent(2) < a.extent(2)) return permute(products(d, b, a), {1, 0});
  const int64_t rows = a.extent(0) * a.extent(1);
  const Term left = reshape(a, {rows, a.extent(2)}), right = reshape(b, {rows, b.extent(2)});
  return d.term(detail::matmul(d.name, d.permute(left.handle(), {1, 0}), right.handle(), d.site));
}

/// Returns h before each step.
Term before(D d, bool reverse) {
  const Term y = d.y(0), h0 = d.x(1);
  const int64_t steps = y.extent(0);
  const Term first = reshape(h0, {1, h0.extent(0), h0.extent(1)});
  const Term others = part(y, 0, reverse ? 1 : 0, steps - 1);
  return reverse ? joined(d, others, first, 0) : joined(d, first, others, 0);
}

/// Returns values that are differentiated by; what they depend on stays behind them where gradients are
/// differentiated further.
std::vector<Handle> ends_of_the_way(D d, size_t count) {
  std::vector<Handle> ends;
  for (size_t i = 0; i < count; ++i) ends.push_back(separate_leaf(d.op.operands[i], d.site));
  return ends;
}
std::vector<Term> terms(D d, const std::vector<Handle>& handles, size_t count) {
  std::vector<Term> all;
  for (size_t i = 0; i < count; ++i) all.push_back(d.term(handles[i]));
  return all;
}
Term sum_of_all(const Term& t) { return sum(t, axes_in_order(t.rank()), dropdims); }

/// Returns the sum of the outputs times their gradients; `g_c` of an LSTM.
Term weighed(const RecurrentSteps& all, const Term& g_y, const Term* g_c) {
  Term total;
  for (size_t i = 0; i < all.h.size(); ++i) {
    const Term one =
        all.h[i] * reshape(part(g_y, 0, static_cast<int64_t>(i), 1), {g_y.extent(1), g_y.extent(2)});
    total = i ? total + one : one;
  }
  total = sum_of_all(total);
  return g_c ? total + sum_of_all(all.c * *g_c) : total;
}

/// Returns the gradients of a value that was recorded since, by what it was computed from.
Gradients back(D d, const Term& value, const std::vector<Handle>& ends) {
  Backwards all(value.handle(), ends, d.site);
  Gradients g = all.run(d.filled(1, value.handle()->dtype, {}, value.handle()));
  if (!is_grad_enabled()) all.spend();
  return g;
}

/// Gives the operands the gradients of the steps recorded one by one: where the gradient is itself
/// differentiated, and reads more of the steps than their outputs.
void recorded_rule(D d, const RecurrentAttributes& how) {
  const auto own = static_cast<size_t>(jit::calls::recurrent_operands(how));
  const std::vector<Handle> ends = ends_of_the_way(d, own);
  Term value;
  {
    const enable_grad scope;
    const Term g_c = d.g(2);
    value = weighed(recurrent_steps(how, terms(d, ends, own), {}), d.g(0), &g_c);
  }
  Gradients g = back(d, value, ends);
  for (size_t i = 0; i < own; ++i)
    if (const Handle h = g.of(ends[i])) d.to(i, [&] { return d.term(h); });
}

}  // namespace

void recurrent_backward_rule(D d) {
  const auto how = d.op.call().as<RecurrentAttributes>();
  const bool lstm = how.kind == RecurrentKind::lstm, gru = how.kind == RecurrentKind::gru;
  const auto own = static_cast<size_t>(jit::calls::recurrent_operands(how));
  // y and what was saved are made of the other operands: their gradients are part of those.
  std::vector<Handle> ends = ends_of_the_way(d, own);
  ends.push_back(separate_leaf(d.op.operands[own + 2], d.site));
  if (lstm) ends.push_back(separate_leaf(d.op.operands[own + 3], d.site));
  Term value;
  {
    const enable_grad scope;
    const std::vector<Term> o = terms(d, ends, own);
    std::vector<Handle> by{ends[0], ends[1]};
    if (lstm) by.push_back(ends[3]);
    Term added;
    if (gru) {  // its last output is the gradient of what h gives n
      added = d.term(separate_leaf(d.zeros_like(d.y(d.results.size() - 1)).handle(), d.site));
      by.push_back(added.handle());
    }
    const Term g_y = d.term(ends[own]), g_c = lstm ? d.term(ends[own + 1]) : Term();
    Gradients first = back(d, weighed(recurrent_steps(how, o, added), g_y, lstm ? &g_c : nullptr), by);
    for (size_t i = 0; i < by.size(); ++i) {
      const Handle h = first.of(by[i]);
      if (!h) continue;
      const Term one = sum_of_all(d.term(h) * d.g(i));
      value = value.handle() ? value + one : one;
    }
  }
  Gradients g = back(d, value, ends);
  for (size_t i = 0; i < ends.size(); ++i)
    if (const Handle h = g.of(ends[i])) d.to(i < own ? i : i + 2, [&] { return d.term(h); });
}

void recurrent_rule(D d) {
  const auto how = d.op.call().as<RecurrentAttributes>();
  if (how.projected && is_grad_enabled()) return recorded_rule(d, how);
  const bool lstm = how.kind == RecurrentKind::lstm, gru = how.kind == RecurrentKind::gru;
  std::vector<Handle> operands = d.op.operands;
  for (const Handle& h : {d.results[0], d.results[1], d.g(0).handle()}) operands.push_back(h);
  if (lstm) operands.push_back(d.g(2).handle());
  const std::vector<Handle> g =
      detail::record_call(intern_call(kRecurrentBackward, how), pointers_to(operands), d.site);
  const Term g_x = d.term(g[0]);
  d.to(0, [&] { return g_x; });
  d.to(1, [&] { return d.term(g[1]); });
  const int64_t units = g_x.extent(2) / gates_of(how.kind);
  d.to(2, [&] {
    const Term gates = gru ? joined(d, part(g_x, 2, 0, 2 * units), d.term(g[2]), 2) : g_x;
    return products(d, gates, before(d, how.reverse != 0));
  });
  if (gru) d.to(3, [&] { return sum(d.term(g[2]), {0, 1}, dropdims); });
  if (lstm) d.to(3, [&] { return d.term(g[2]); });
  if (how.projected)
    d.to(4, [&] {
      const Term saved = d.y(1), o = part(saved, 2, 3 * units, units), c = part(saved, 2, 4 * units, units);
      return products(d, d.term(g[3]), o * tanh(c));
    });
}

}  // namespace lazy::detail
