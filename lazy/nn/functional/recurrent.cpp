#include "lazy/nn/functional/recurrent.hpp"

#include <vector>

#include "lazy/nn/functional/formula.hpp"
#include "lazy/nn/functional/linear.hpp"
#include "lazy/ops/joining.hpp"

namespace lazy::detail {
namespace {

/// Returns the biases that the inputs' part of the gates has: both, but not b_hh's part of a GRU's n.
Term input_bias(const Formula& f, RecurrentKind kind, const RecurrentWeights& w) {
  const Term b = f.term(w.b_ih);
  if (kind != RecurrentKind::gru) return b + f.term(w.b_hh);
  const int64_t units = b.extent(0) / 3;
  const Term n = part(b, 0, 2 * units, units);
  return {f, f.replaced((b + f.term(w.b_hh)).handle(), n.handle(), 0, 2 * units)};
}

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

namespace {

/// Records the layer on its device: as a call, or step by step where that keeps it there.
std::vector<Handle> recorded(const Formula& f, const jit::calls::RecurrentAttributes& how,
                             const std::vector<const Handle*>& operands) {
  if ((*operands[0])->device.kind != DeviceKind::cuda)
    return detail::record_call(intern_call(jit::calls::kRecurrent, how), operands, f.site);
  std::vector<Term> terms;
  for (const Handle* h : operands) terms.push_back(f.term(*h));
  const RecurrentSteps all = recurrent_steps(how, terms, {});
  std::vector<Tensor> y;
  for (const Term& h : all.h) y.push_back(Tensor(reshape(h, {1, h.extent(0), h.extent(1)}).handle()));
  return {concat(y, 0, f.site).handle(), Handle(), all.c.handle()};
}

}  // namespace

RecurrentResult recurrent(const char* name, RecurrentKind kind, bool reverse, const Tensor& x,
                          const Tensor& h0, const Tensor& c0, const RecurrentWeights& w, const Site& s) {
  const Arg x_arg(x, s);
  const Formula f(name, {&x_arg}, {&h0, &c0, &w.w_ih, &w.w_hh, &w.b_ih, &w.b_hh, &w.w_hr});
  const bool biased = w.b_ih.defined();
  const Tensor bias = biased ? Tensor(input_bias(f, kind, w).handle()) : Tensor();
  const Handle in = f.term(x).handle(), w_ih = f.term(w.w_ih).handle();
  const Handle gates = linear(f.arg(in), f.arg(w_ih), bias).handle();
  const Handle start = f.term(h0).handle(), w_hh = f.term(w.w_hh).handle();
  std::vector<Handle> extra;
  if (kind == RecurrentKind::lstm) extra.push_back(f.term(c0).handle());
  if (w.w_hr.defined()) extra.push_back(f.term(w.w_hr).handle());
  if (kind == RecurrentKind::gru) {
    const int64_t units = w_hh->shape[0] / 3;
    extra.push_back(biased ? part(f.term(w.b_hh), 0, 2 * units, units).handle()
                           : f.filled(0, f.work, {units}, gates));
  }
  std::vector<const Handle*> operands{&gates, &start, &w_hh};
  for (const Handle& h : extra) operands.push_back(&h);
  const jit::calls::RecurrentAttributes how{kind, reverse, w.w_hr.defined()};
  const std::vector<Handle> out = recorded(f, how, operands);
  const Handle y = f.as(f.result, out[0]);
  const Shape& shape = out[0]->shape;
  const Handle last = f.part(y, 0, reverse ? 0 : shape[0] - 1, 1);
  RecurrentResult r{Tensor(y), Tensor(f.reshape(last, {shape[1], shape[2]})), {}};
  if (kind == RecurrentKind::lstm) r.c = Tensor(f.as(f.result, out[2]));
  return r;
}

}  // namespace lazy::detail
