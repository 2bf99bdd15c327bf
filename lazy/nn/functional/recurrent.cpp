#include "lazy/nn/functional/recurrent.hpp"

#include <vector>

#include "lazy/core/advice.hpp"
#include "lazy/formula/formula.hpp"
#include "lazy/formula/recurrent_steps.hpp"
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
  tell_of_widening(name, x.handle(), w.w_ih.handle(), s);
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
