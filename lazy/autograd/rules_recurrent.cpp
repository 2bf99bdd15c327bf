// Has the derivative of recurrent layers: a call goes back through the steps; gradients of weights, which
// need all steps at once, are products around it.
#include "jit/calls/recurrent.hpp"
#include "lazy/autograd/rules.hpp"

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

/// Returns the sum over steps and sequences of the products of a (T, N, i) and b (T, N, j): (i, j).
Term products(D d, const Term& a, const Term& b) {
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

}  // namespace

void recurrent_rule(D d) {
  const auto how = d.op.call->as<RecurrentAttributes>();
  const bool lstm = how.kind == RecurrentKind::lstm, gru = how.kind == RecurrentKind::gru;
  std::vector<Handle> operands = d.op.operands;
  for (const Handle& h : {d.op.results[0], d.op.results[1], d.g(0).handle()}) operands.push_back(h);
  if (lstm) operands.push_back(d.g(2).handle());
  std::vector<const Handle*> pointers;
  for (const Handle& h : operands) pointers.push_back(&h);
  const std::vector<Handle> g = detail::record_call(intern_call(kRecurrentBackward, how), pointers, d.site);
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
