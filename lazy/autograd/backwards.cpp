#include "lazy/autograd/backwards.hpp"

#include <algorithm>
#include <unordered_map>

#include "jit/calls/call.hpp"
#include "lazy/autograd/backward.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/policy.hpp"

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
  const std::vector<Hook> hooks = t.hooks;  // one may register others
  for (const Hook& hook : hooks) {
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

/// Applies the rule of what was recorded.
struct Apply {
  const Differentiation& at;

  void operator()(Op op) const { rule_of(op)(at); }

  void operator()(const jit::CallSpec* call) const {
    const RecordedOp& op = at.op;
    if (const Rule rule = rule_of_call(call->definition())) return rule(at);
    const jit::CallVjp vjp = call->definition().vjp;
    if (!vjp) fail<Error>(call->name(), "has no derivative yet", op.site);
    std::vector<Handle> gradients;
    for (size_t i = 0; i < at.results.size(); ++i)
      gradients.push_back(at.results[i] ? at.g(i).handle() : Handle());
    add_all(at, vjp({*call, op.operands, at.results, gradients, wanted_of(at, op.operands.size()),
                     is_grad_enabled(), op.site}));
  }

  void operator()(const NamedComposite& c) const {
    const RecordedOp& op = at.op;
    const Handle gradient = at.g().handle();
    add_all(at, c.own({op.operands, at.results[0], gradient, wanted_of(at, op.operands.size()),
                       is_grad_enabled(), op.site}));
  }

  void operator()(Transfer) const {
    at.to(0, [&] { return at.term(detail::transfer(at.g().handle(), at.op.operands[0]->device, at.site)); });
  }
};

/// Returns what errors of the rule say that they are of.
struct Name {
  const char* operator()(Op op) const { return jit::name_of(op); }
  const char* operator()(const jit::CallSpec*) const { return "gradient of a call"; }
  const char* operator()(const NamedComposite& c) const { return c.name; }
  const char* operator()(Transfer) const { return "transfer"; }
};

}  // namespace

Backwards::Backwards(std::span<const Handle> values, std::span<const Handle> targets, const Site& s,
                     uint64_t since)
    : values_(values.begin(), values.end()), targets_(targets.begin(), targets.end()) {
  std::unordered_set<const jit::Node*> ends, met;
  for (const Handle& t : targets_) ends.insert(t.get());
  std::unordered_set<const Derivation*> found;
  std::vector<const Handle*> open;
  for (const Handle& h : values_) open.push_back(&h);
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

std::vector<Backwards::End> Backwards::ends() const {
  std::vector<End> all;
  std::unordered_map<const Leaf*, size_t> at;
  all.reserve(boundary_.size());
  for (const Handle& h : boundary_) {
    Leaf* const l = leaf(h);
    const auto [place, is_new] = at.emplace(l, all.size());
    if (is_new) {
      l->add_reference();
      all.push_back({std::unique_ptr<Leaf, Release>(l), {}, 0});
    }
    all[place->second].values.push_back(h);
  }
  // Derivations are gone through from the first to the last: the last one found is the leaf's last.
  std::vector<size_t> order;
  for (size_t n = order_.size(); n-- > 0 && order.size() < all.size();) {
    const std::vector<Handle>& operands = order_[n]->recorded.operands;
    for (auto h = operands.rbegin(); h != operands.rend(); ++h)
      if (const Leaf* const l = leaf(*h))
        if (const auto place = at.find(l); place != at.end() && all[place->second].after == 0) {
          all[place->second].after = n + 1;
          order.push_back(place->second);
        }
  }
  std::vector<End> ordered;
  ordered.reserve(all.size());
  for (End& e : all)
    if (e.after == 0) ordered.push_back(std::move(e));  // the value is a leaf
  for (auto place = order.rbegin(); place != order.rend(); ++place) ordered.push_back(std::move(all[*place]));
  return ordered;
}

namespace {

/// Tells observers of the thread when a backward pass is over.
struct TellingOfEnd {
  TellingOfEnd() = default;
  TellingOfEnd(const TellingOfEnd&) = delete;
  ~TellingOfEnd() {
    if (observing) tell_derives(nullptr);
  }
};

}  // namespace

void Backwards::go_through(Derivation& d, const std::vector<Handle>& results, Gradients& gradients) {
  bool any = false;
  for (const Handle& r : results) any |= r && static_cast<bool>(gradients.of(r));
  if (!any) return;
  const Handle& first = results[0];
  if (!d.hooks.empty() && first && gradients.of(first))
    gradients.replace(first, hooked(d, gradients.of(first), first, d.recorded.site));
  const RecordedOp& op = d.recorded;
  if (observing && first) tell_derives(&first);
  const Differentiation at(std::visit(Name(), op.what), op, results, gradients);
  std::visit(Apply{at}, op.what);
}

Gradients Backwards::first(std::span<const Handle> gradients) const {
  Gradients all(wanted());
  for (size_t i = 0; i < values_.size(); ++i) all.add(values_[i], gradients[i], values_[i]->site);
  return all;
}

Gradients Backwards::run(std::span<const Handle> of_values) const {
  const jit::Purpose purpose("gradient");
  const TellingOfEnd end;
  const PolicyScope asked(nullptr);  // gradients are of the dtypes of what they are of
  const Inferring off(false);
  Gradients gradients = first(of_values);
  for (const Pinned& d : order_) go_through(*d, d->results(), gradients);
  return gradients;
}

void Backwards::run(std::span<const Handle> of_values, const Reached& reached) const {
  const jit::Purpose purpose("gradient");
  const TellingOfEnd end;
  const PolicyScope asked(nullptr);  // gradients are of the dtypes of what they are of
  const Inferring off(false);
  Gradients gradients = first(of_values);
  const std::vector<End> ends = this->ends();
  auto next = ends.begin();
  const auto reach = [&](size_t gone_through) {
    for (; next != ends.end() && next->after == gone_through; ++next) {
      const Handle& value = next->values.front();
      Handle sum;
      for (const Handle& h : next->values) {
        const Handle more = gradients.of(h);
        if (more) sum = sum ? binary("gradient", Op::add, sum, more, h->site) : more;
        gradients.forget(h);
      }
      if (sum && !next->leaf->hooks.empty()) sum = hooked(*next->leaf, std::move(sum), value, value->site);
      reached(*next->leaf, value, std::move(sum));
    }
  };
  reach(0);
  for (size_t n = 0; n < order_.size(); ++n) {
    {
      const std::vector<Handle> results = order_[n]->results();
      go_through(*order_[n], results, gradients);
      // A hook that evaluates stores no gradient that nothing reads any more.
      for (const Handle& r : results)
        if (r) gradients.forget(r);
    }
    reach(n + 1);
  }
}

void Backwards::spend() noexcept {
  for (const Pinned& d : order_) d->spend();
  order_.clear();
}

}  // namespace lazy::detail
