#include "lazy/nn/functional/recurrent.hpp"

#include <vector>

#include "lazy/core/advice.hpp"
#include "lazy/core/policy.hpp"
#include "lazy/formula/formula.hpp"
#include "lazy/formula/recurrent_steps.hpp"
#include "lazy/nn/functional/linear.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/views.hpp"

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

/// Returns t with the blocks of its axis in torch's order. This is one map of t alone, so that of weights
/// that stay it is kept, as joined parts are not.
Tensor ordered(const Tensor& t, int axis, const std::vector<int>& order, const Site& s) {
  if (order.empty()) return t;
  const auto count = static_cast<int64_t>(order.size());
  const Shape shape = t.shape(s);
  Shape blocks, places;
  for (int a = 0; a < shape.size(); ++a) {
    if (a == axis) blocks.push_back(count);
    blocks.push_back(a == axis ? shape[a] / count : shape[a]);
  }
  for (int a = 0; a < blocks.size(); ++a) places.push_back(a == axis ? count : 1);
  const Tensor split = lazy::reshape(Arg(t, s), blocks);
  const Tensor place(iota(axis, places, t.device(s), s));
  Tensor r;
  for (int64_t g = 0; g < count; ++g) {
    const Tensor block = lazy::narrow(Arg(split, s), axis, order[static_cast<size_t>(g)], 1);
    r = g == 0 ? block : where(Arg(equal(Arg(place, s), Arg(g, s)), s), Arg(block, s), Arg(r, s));
  }
  return lazy::reshape(Arg(r, s), shape);
}

/// Records the layer as the call, or step by step where only that keeps it on its device, or for one step:
/// the call packs the weights, which takes as long as one product with them.
std::vector<Handle> expand_layer(const jit::Expanding& e) {
  const auto how = e.spec.as<jit::calls::RecurrentAttributes>();
  const jit::CallSpec& call = intern_call(jit::calls::kRecurrent, how);
  if (e[0]->shape[0] > 1 && runs_here(e.backend, call)) return detail::record_call(call, e.operands, e.site);
  return recurrent_by_steps(e);
}

/// Is an intention whose operands and outputs are those of the call (jit/built_in/nn/recurrent.hpp), and
/// whose derivative is that of what it is expanded to.
constinit const jit::CallDefinition kLayer{
    .name = "recurrent_layer",
    .traits = jit::call_trait::kNoThrow,
    .infer = [](const jit::CallSpec& spec,
                std::span<const jit::Meta> o) { return jit::calls::kRecurrent.infer(spec, o); },
    .expand = expand_layer};

}  // namespace

bool is_recurrent_layer(const jit::CallSpec& spec) { return &spec.definition() == &kLayer; }

std::vector<Handle> recurrent_by_steps(const jit::Expanding& e) {
  const auto how = e.spec.as<jit::calls::RecurrentAttributes>();
  const Formula f(e.spec.name(), e.site);
  std::vector<Term> terms;
  for (const Handle* h : e.operands) terms.push_back(f.term(*h));
  const RecurrentSteps all = recurrent_steps(how, terms, {});
  std::vector<Tensor> y;
  for (const Term& h : all.h) y.push_back(Tensor(reshape(h, {1, h.extent(0), h.extent(1)}).handle()));
  return {concat(y, 0, f.site).handle(), Handle(), all.c.handle()};
}

RecurrentResult recurrent(const char* name, RecurrentKind kind, bool reverse, const Tensor& x,
                          const Tensor& h0, const Tensor& c0, const RecurrentWeights& w, const Site& s) {
  const Arg x_arg(x, s);
  const Formula f(name, contraction, {&x_arg}, {&h0, &c0, &w.w_ih, &w.w_hh, &w.b_ih, &w.b_hh, &w.w_hr});
  const PolicyScope asked(nullptr);  // what the layer is made of goes by the layer's dtype
  tell_of_widening(name, x.handle(), w.w_ih.handle(), s);
  const bool biased = w.b_ih.defined();
  const Tensor bias = biased ? Tensor(input_bias(f, kind, w).handle()) : Tensor();
  const Handle in = f.term(x).handle(), w_ih = f.term(w.w_ih).handle();
  const Tensor product = linear(f.arg(in), f.arg(w_ih), bias);
  const Handle gates = ordered(product, 2, w.order, f.site).handle();
  const Handle start = f.term(h0).handle();
  const Handle w_hh = ordered(Tensor(f.term(w.w_hh).handle()), 0, w.order, f.site).handle();
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
