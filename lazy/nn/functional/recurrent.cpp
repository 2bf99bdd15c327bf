#include "lazy/nn/functional/recurrent.hpp"

#include <vector>

#include "lazy/core/advice.hpp"
#include "lazy/core/policy.hpp"
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

/// Records the layer as the call, or step by step where only that keeps it on its device.
std::vector<Handle> expand_layer(const jit::Expanding& e) {
  const auto how = e.spec.as<jit::calls::RecurrentAttributes>();
  const jit::CallSpec& call = intern_call(jit::calls::kRecurrent, how);
  if (runs_here(e.backend, call)) return detail::record_call(call, e.operands, e.site);
  const Formula f(e.spec.name(), e.site);
  std::vector<Term> terms;
  for (const Handle* h : e.operands) terms.push_back(f.term(*h));
  const RecurrentSteps all = recurrent_steps(how, terms, {});
  std::vector<Tensor> y;
  for (const Term& h : all.h) y.push_back(Tensor(reshape(h, {1, h.extent(0), h.extent(1)}).handle()));
  return {concat(y, 0, f.site).handle(), Handle(), all.c.handle()};
}

/// Is an intention whose operands and outputs are those of the call (jit/calls/recurrent.hpp), and whose
/// derivative is that of what it is expanded to.
constinit const jit::CallDefinition kLayer{
    .name = "recurrent_layer",
    .traits = jit::call_trait::kNoThrow,
    .infer = [](const jit::CallSpec& spec,
                std::span<const jit::Meta> o) { return jit::calls::kRecurrent.infer(spec, o); },
    .expand = expand_layer};

}  // namespace

RecurrentResult recurrent(const char* name, RecurrentKind kind, bool reverse, const Tensor& x,
                          const Tensor& h0, const Tensor& c0, const RecurrentWeights& w, const Site& s) {
  const Arg x_arg(x, s);
  const Formula f(name, contraction, {&x_arg}, {&h0, &c0, &w.w_ih, &w.w_hh, &w.b_ih, &w.b_hh, &w.w_hr});
  const PolicyScope asked(nullptr);  // what the layer is made of goes by the layer's dtype
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
  const std::vector<Handle> out = detail::record_call(intern_call(kLayer, how), operands, f.site);
  const Handle y = f.as(f.result, out[0]);
  const Shape& shape = out[0]->shape;
  const Handle last = f.part(y, 0, reverse ? 0 : shape[0] - 1, 1);
  RecurrentResult r{Tensor(y), Tensor(f.reshape(last, {shape[1], shape[2]})), {}};
  if (kind == RecurrentKind::lstm) r.c = Tensor(f.as(f.result, out[2]));
  return r;
}

}  // namespace lazy::detail
