#include "lazy/autograd/backwards.hpp"

#include <algorithm>

#include "jit/calls/call.hpp"
#include "lazy/autograd/backward.hpp"

namespace lazy::detail {

void check_gradient(const char* name, const Handle& gradient, const Handle& value, const Site& s) {
  if (gradient->shape != value->shape || gradient->dtype != value->dtype)
    fail<ShapeError>(name,
                     "a gradient of " + to_string(gradient->shape) + ", " + name_of(gradient->dtype) +
                         " for a value of " + to_string(value->shape) + ", " + name_of(value->dtype),
                     s);
}

namespace {

/// Returns the gradient as the hooks want it.
Handle hooked(const Tracked& t, Handle gradient, const Handle& value, const Site& s) {
  for (const Hook& hook : t.hooks) {
    const Tensor changed = hook(Tensor(gradient));
    if (!changed.defined()) continue;
    const Handle& h = changed.handle();
    check_gradient("hook", h, value, s);
    gradient = h;
  }
  return gradient;
}

void add_all(const Differentiation& d, const std::vector<Handle>& gradients) {
  for (size_t i = 0; i < gradients.size() && i < d.op.operands.size(); ++i)
    if (gradients[i]) d.to(i, [&] { return d.term(gradients[i]); });
}

/// Returns the bits of those of the first operands that gradients are wanted of.
uint64_t wanted_of(const Differentiation& at, size_t operands) {
  uint64_t wanted = 0;
  for (size_t i = 0; i < operands && i < 64; ++i)
    if (at.wants(i)) wanted |= uint64_t{1} << i;
  return wanted;
}

/// Applies a derivative that is no row of a table.
void apply_own(const Derivation& d, const Differentiation& at) {
  const Handle gradient = at.g().handle();
  add_all(at, d.own({d.recorded.operands, at.results[0], gradient, wanted_of(at, d.recorded.operands.size()),
                     is_grad_enabled(), d.recorded.site}));
}

void apply_call(const Derivation& d, const Differentiation& at) {
  const RecordedOp& op = d.recorded;
  if (const Rule rule = rule_of_call(op.call->name())) return rule(at);
  const jit::CallVjp vjp = op.call->definition().vjp;
  if (!vjp) fail<Error>(op.call->name(), "has no derivative yet", op.site);
  std::vector<Handle> gradients;
  for (size_t i = 0; i < at.results.size(); ++i)
    gradients.push_back(at.results[i] ? at.g(i).handle() : Handle());
  add_all(at, vjp({*op.call, op.operands, at.results, gradients, wanted_of(at, op.operands.size()),
                   is_grad_enabled(), op.site}));
}

}  // namespace

Backwards::Backwards(const Handle& value, std::span<const Handle> targets, const Site& s, uint64_t since)
    : value_(value), targets_(targets.begin(), targets.end()) {
  std::unordered_set<const jit::Node*> ends, met;
  for (const Handle& t : targets_) ends.insert(t.get());
  std::unordered_set<const Derivation*> found;
  std::vector<const Handle*> open{&value_};
  while (!open.empty()) {
    const Handle& h = *open.back();
    open.pop_back();
    if (!h || !h->attachment || ends.contains(h.get()) || !met.insert(h.get()).second) continue;
    Derivation* const d = derivation(h);
    const bool inside = d && d->number >= since;
    if (inside && !found.insert(d).second) continue;  // another output of the same call
    Pinned pinned(inside && d->pin() ? d : nullptr);
    if (d && d->spent() && !pinned)
      fail<Error>("backward",
                  "what was kept for the gradient of the value made at " + lazy::to_string(d->recorded.site) +
                      " was given up by an earlier backward(): pass it retain_graph",
                  s);
    if (!inside) {
      boundary_.push_back(h);
      continue;
    }
    order_.push_back(std::move(pinned));
    for (const Handle& operand : d->recorded.operands) open.push_back(&operand);
  }
  std::sort(order_.begin(), order_.end(),
            [](const Pinned& a, const Pinned& b) { return a->number > b->number; });
}

std::unordered_set<const jit::Node*> Backwards::wanted() const {
  std::unordered_set<const jit::Node*> all;
  for (const Handle& h : targets_.empty() ? boundary_ : targets_) all.insert(h.get());
  std::unordered_set<const Derivation*> leads;
  for (auto d = order_.rbegin(); d != order_.rend(); ++d)
    for (const Handle& operand : (*d)->recorded.operands) {
      if (!operand) continue;
      if (const Derivation* const from = derivation(operand); from && leads.contains(from))
        all.insert(operand.get());
      if (all.contains(operand.get())) leads.insert(d->get());
    }
  return all;
}

Gradients Backwards::run(const Handle& gradient) const {
  const jit::Purpose purpose("gradient");
  Gradients gradients(wanted());
  gradients.add(value_, gradient, value_->site);
  for (const Pinned& d : order_) {
    const std::vector<Handle> results = d->results();
    bool any = false;
    for (const Handle& r : results) any |= r && static_cast<bool>(gradients.of(r));
    if (!any) continue;
    const Handle& first = results[0];
    if (!d->hooks.empty() && first && gradients.of(first))
      gradients.replace(first, hooked(*d, gradients.of(first), first, d->recorded.site));
    const Differentiation at(d->name            ? d->name
                             : d->recorded.call ? "gradient of a call"
                                                : jit::name_of(d->recorded.op),
                             d->recorded, results, gradients);
    if (d->own) apply_own(*d, at);
    else if (d->recorded.call) apply_call(*d, at);
    else rule_of(d->recorded.op)(at);
  }
  for (const Handle& h : boundary_)
    if (const Leaf* const l = leaf(h); l && !l->hooks.empty() && gradients.of(h))
      gradients.replace(h, hooked(*l, gradients.of(h), h, h->site));
  return gradients;
}

void Backwards::spend() noexcept {
  for (const Pinned& d : order_) d->spend();
  order_.clear();
}

}  // namespace lazy::detail
