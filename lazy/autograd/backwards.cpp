#include "lazy/autograd/backwards.hpp"

#include <algorithm>
#include <unordered_map>

#include "jit/calls/call.hpp"
#include "lazy/autograd/backward.hpp"
#include "lazy/autograd/planed.hpp"
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

/// Returns the gradient as the hooks want it; copies of them, for one may register others.
Handle hooked(const std::vector<Hook> hooks, Handle gradient, const Handle& value, const Site& s) {
  for (const Hook& hook : hooks) {
    const Tensor changed = hook(Tensor(gradient));
    if (!changed.defined()) continue;
    const Handle& h = changed.handle();
    check_gradient("hook", h, value, s);
    gradient = h;
  }
  return gradient;
}

/// Has the gradients of both planes of a value be what the hooks of the pair want; nothing if both are empty.
void hook_pair(const std::vector<Hook> hooks, Handle (&gradients)[2], const Handle (&values)[2],
               const Site& s) {
  if (hooks.empty() || (!gradients[0] && !gradients[1])) return;
  const auto filled = [&](int i) {
    return gradients[i] ? gradients[i] : zeros_like(values[values[i] ? i : 1 - i], s);
  };
  const Handle before = jit::complex(filled(0), filled(1), s), after = hooked(hooks, before, before, s);
  if (after.get() == before.get()) return;
  const Planed planes(after);
  for (const int i : {0, 1}) gradients[i] = planes.of[i];
}

/// Has the gradients of a derivation's results be what the hooks want.
void hook_results(const Derivation& d, const std::vector<Handle>& results, Gradients& gradients) {
  std::vector<std::vector<Hook>> hooks(results.size());
  for (const Derivation::ResultHook& h : d.hooks) hooks.at(h.result).push_back(h.hook);
  const Site s = d.recorded.site;
  if (std::holds_alternative<Pairing>(d.recorded.what)) {
    Handle g[] = {gradients.of(results[0]), gradients.of(results[1])};
    hook_pair(hooks[0], g, {results[0], results[1]}, s);
    for (const int i : {0, 1})
      if (g[i]) gradients.replace(results[static_cast<size_t>(i)], g[i]);
    return;
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i] && !hooks[i].empty())
      if (const Handle g = gradients.of(results[i]))
        gradients.replace(results[i], hooked(hooks[i], g, results[i], s));
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
  Gradients& gradients;

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

  void operator()(Pairing) const {
    for (const size_t i : {size_t{0}, size_t{1}})
      if (const Handle g = gradients.of(at.results[i])) at.to(i, [&] { return at.term(g); });
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
  const char* operator()(Pairing) const { return "hook"; }
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
  pair(ordered);
  return ordered;
}

void Backwards::pair(std::vector<End>& ends) {
  std::unordered_map<const PairHooks*, size_t> earlier;
  for (size_t i = 0; i < ends.size(); ++i) {
    const PairHooks* const p = ends[i].leaf->pair().get();
    if (!p) continue;
    ends[i].pair = ends[i].leaf->pair();
    const auto [place, is_new] = earlier.emplace(p, i);
    if (!is_new) ends[i].other = std::make_unique<End>(std::move(ends[place->second]));
    place->second = i;
  }
  for (const auto& [p, i] : earlier) {
    if (ends[i].other) continue;
    const Handle other = Leaf::latest_of(*p, p->leaves[0] == ends[i].leaf.get() ? 1 : 0);
    Leaf* const l = leaf(other);
    if (!l || l->pair().get() != p) continue;
    l->add_reference();
    ends[i].other = std::make_unique<End>(End{std::unique_ptr<Leaf, Release>(l), {other}, ends[i].after});
  }
  std::erase_if(ends, [](const End& e) { return !e.leaf; });
}

Handle Backwards::sum_of(const End& end, Gradients& gradients) {
  Handle sum;
  for (const Handle& h : end.values) {
    const Handle more = gradients.of(h);
    if (more) sum = sum ? binary("gradient", Op::add, sum, more, h->site) : more;
    gradients.forget(h);
  }
  const Handle& value = end.values.front();
  return sum ? hooked(end.leaf->hooks, std::move(sum), value, value->site) : sum;
}

void Backwards::reach(const End& end, Gradients& gradients, const Reached& reached) {
  const PairHooks* const pair = end.pair.get();
  if (!pair) {
    Part alone{*end.leaf, end.values.front(), sum_of(end, gradients)};
    return reached({&alone, 1});
  }
  const int at = pair->leaves[0] == end.leaf.get() ? 0 : 1;
  const End* const planes[] = {at == 0 ? &end : end.other.get(), at == 0 ? end.other.get() : &end};
  Handle values[2], sums[2];
  for (const int i : {0, 1})
    if (planes[i]) values[i] = planes[i]->values.front(), sums[i] = sum_of(*planes[i], gradients);
  hook_pair(pair->hooks, sums, values, values[at]->site);
  std::vector<Part> parts;
  for (const int i : {0, 1})
    if (planes[i]) parts.push_back({*planes[i]->leaf, values[i], std::move(sums[i])});
  reached(parts);
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
  if (!d.hooks.empty()) hook_results(d, results, gradients);
  const RecordedOp& op = d.recorded;
  if (observing && first) tell_derives(&first);
  const Differentiation at(std::visit(Name(), op.what), op, results, gradients);
  std::visit(Apply{at, gradients}, op.what);
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
  const auto reach_those = [&](size_t gone_through) {
    for (; next != ends.end() && next->after == gone_through; ++next) reach(*next, gradients, reached);
  };
  reach_those(0);
  for (size_t n = 0; n < order_.size(); ++n) {
    {
      const std::vector<Handle> results = order_[n]->results();
      go_through(*order_[n], results, gradients);
      // A hook that evaluates stores no gradient that nothing reads any more.
      for (const Handle& r : results)
        if (r) gradients.forget(r);
    }
    reach_those(n + 1);
  }
}

void Backwards::spend() noexcept {
  for (const Pinned& d : order_) d->spend();
  order_.clear();
}

}  // namespace lazy::detail
