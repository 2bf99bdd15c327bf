#include "lazy/formula/recurrent_steps.hpp"

namespace lazy::detail {
namespace {

using jit::calls::RecurrentKind;

Term product(const Term& a, const Term& b) {
  return {a.formula(), detail::matmul(a.formula().name, a.handle(), b.handle(), a.formula().site)};
}
/// Returns what is of one step.
Term at_step(const Term& t, int64_t i) { return reshape(part(t, 0, i, 1), {t.extent(1), t.extent(2)}); }

/// Holds a state between steps.
struct Between {
  Term h, c;
};
/// Does a step of an LSTM without a projection, or of a plain layer: `gates` are whole.
Between stepped(RecurrentKind kind, const Term& gates, const Between& before) {
  if (kind == RecurrentKind::tanh) return {tanh(gates), {}};
  if (kind == RecurrentKind::relu) return {where(gates <= 0, 0, gates), {}};
  const int64_t n = gates.extent(1) / 4;
  const auto gate = [&](int64_t i) { return part(gates, 1, i * n, n); };
  const Term c = sigmoid(gate(1)) * before.c + sigmoid(gate(0)) * tanh(gate(2));
  return {sigmoid(gate(3)) * tanh(c), c};
}
/// Does a step of a GRU; `inner` is what h gives the gates.
Term gru_stepped(const Term& x, const Term& inner, const Term& b_n, const Term& added, const Term& before) {
  const int64_t n = before.extent(1);
  const auto gate = [&](const Term& t, int64_t i) { return part(t, 1, i * n, n); };
  const Term r = sigmoid(gate(x, 0) + gate(inner, 0)), z = sigmoid(gate(x, 1) + gate(inner, 1));
  Term own = gate(inner, 2) + b_n;
  if (added.handle()) own = own + added;
  const Term next = tanh(gate(x, 2) + r * own);
  return (1 - z) * next + z * before;
}

}  // namespace

RecurrentSteps recurrent_steps(const jit::calls::RecurrentAttributes& how, const std::vector<Term>& o,
                               const Term& added) {
  const int64_t steps = o[0].extent(0);
  const bool lstm = how.kind == RecurrentKind::lstm, gru = how.kind == RecurrentKind::gru;
  const Term w_t = permute(o[2], {1, 0}), w_r_t = how.projected ? permute(o[4], {1, 0}) : Term();
  Between now{o[1], lstm ? o[3] : Term()};
  RecurrentSteps all{std::vector<Term>(static_cast<size_t>(steps)), {}};
  for (int64_t k = 0; k < steps; ++k) {
    const int64_t i = how.reverse ? steps - 1 - k : k;
    const Term x = at_step(o[0], i), inner = product(now.h, w_t);
    const Term more = added.handle() ? at_step(added, i) : Term();
    if (gru) now.h = gru_stepped(x, inner, o[3], more, now.h);
    else now = stepped(how.kind, x + inner, now);
    if (how.projected) now.h = product(now.h, w_r_t);
    all.h[static_cast<size_t>(i)] = now.h;
  }
  all.c = now.c;
  return all;
}

}  // namespace lazy::detail
