#include "lazy/optim/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "jit/graph/planes.hpp"
#include "lazy/autograd/derivation.hpp"
#include "lazy/autograd/updating.hpp"
#include "lazy/optim/update.hpp"
#include "support/first_time.hpp"
#include "support/float_mode.hpp"
#include "support/log.hpp"
#include "support/log_fields.hpp"

namespace lazy::optim {

void Optimizer::add_parameters(const ParameterList& parameters, const Site& s) {
  std::unordered_set<const Parameter*> there;
  std::unordered_set<std::string> names;
  for (const Held& h : held_) there.insert(h.parameter.get()), names.insert(h.name);
  std::vector<Held> added;
  for (const ParameterItem& item : parameters) {
    const size_t number = held_.size() + added.size();
    const std::string name = item.name.empty() ? std::to_string(number) : item.name;
    if (!item.parameter) detail::fail<Error>(name_, "parameter " + name + " holds nothing", s);
    if (!there.insert(item.parameter.get()).second)
      detail::fail<Error>(name_, "parameter " + name + " is there twice", s);
    if (!names.insert(name).second) detail::fail<Error>(name_, "the name " + name + " is there twice", s);
    added.push_back({name, item.parameter, groups_, {}, {}, false, steps_ > 0});
  }
  held_.insert(held_.end(), added.begin(), added.end());
  initial_lrs_.push_back(std::nan(""));
  ++groups_;
}

void Optimizer::check_any(const Site& s) const {
  if (held_.empty())
    detail::fail<Error>(
        name_,
        "there is nothing to train: no parameters were given. A module has those that LAZY_MODULE names", s);
}

void Optimizer::tell_no_gradient(const Site& s) {
  if (std::exchange(told_no_gradient_, true)) return;
  logging::warning(
      std::string(name_) + ": step() at " + to_string(s) + " changes nothing, for none of its " +
      std::to_string(held_.size()) +
      " parameters has a gradient: backward() was not called, or the loss was computed from copies "
      "of the parameters, or of the model");
}

void Optimizer::tell_of_sums(const Parameter& first, const Site& s) {
  constexpr uint32_t kCertain = 16;
  const detail::Leaf* const l = detail::leaf(first.handle());
  const uint32_t before = std::exchange(additions_, l ? l->additions() : 0);
  summing_steps_ = before > 0 && additions_ > before ? summing_steps_ + 1 : 0;
  if (summing_steps_ == kCertain && is_first_time("zero_grad", s))
    logging::hint(
        std::string(name_) + ": step() at " + to_string(s) +
            " goes by gradients that are sums of all backward() so far: zero_grad() was not called for the "
            "last " +
            std::to_string(kCertain) + " steps",
        logging::Fields().at(s).add("hint", "zero_grad"));
}

void Optimizer::tell_of_untrained(const Site& s) const {
  std::vector<const Held*> without;
  for (const Held& h : held_)
    if (!h.had_gradient && !h.added_later && h.parameter->requires_grad(s)) without.push_back(&h);
  if (without.empty() || !is_first_time("no gradient", s)) return;
  std::string names = without[0]->name;
  constexpr size_t kShown = 3;
  for (size_t i = 1; i < std::min(without.size(), kShown); ++i) names += ", " + without[i]->name;
  if (without.size() > kShown) names += ", ...";
  logging::hint(std::string(name_) + ": " + std::to_string(without.size()) + " of " +
                    std::to_string(held_.size()) + " parameters (" + names +
                    ") never had a gradient in the " + std::to_string(kStepsToTell) + " steps of step() at " +
                    to_string(s) +
                    ": the loss does not depend on them; requires_grad_(false) says that it is meant",
                logging::Fields().at(s).add("hint", "no_gradient"));
}

// Updates of one kind record the same ops with the same numbers. What is one kind follows from steps and
// options, never from numbers that happen to be equal: these are no part of a program's key.
struct Optimizer::Kind {
  size_t group;
  DType dtype;
  int64_t step;
  double product;
  uint64_t had;  // bit i: there is a tensor i of the state; the bit above: a master value
  DeviceKind device_kind;
  uint8_t device_index;
  const jit::Node *step_value, *product_value;  // of the state: null if the host has the numbers
  auto operator<=>(const Kind&) const = default;
};

namespace {

const jit::Node* node_of(const Tensor& x) { return x.defined() ? x.handle().get() : nullptr; }

Nodes nodes_of(const Tensor& x) { return Nodes(x.handle()); }
Tensor tensor_of(const Nodes& n) { return Tensor(n.value()); }

/// Updates both planes of a complex parameter, each as a real one, but with lengths of the whole.
/// begin(update, value, gradient, state, both) makes an Update and records it.
template <class F>
UpdateResult update_planes(const Tensor& p, const Tensor& gradient, ParameterState& state, F&& begin,
                           const Site& s) {
  ParameterState states[2] = {state, state};
  OfBothPlanes both;
  std::optional<Update> updates[2];
  for (const int i : {0, 1}) {
    const auto plane = [&](const Tensor& t) {
      if (!t.defined()) return Tensor();
      return Tensor(i == 0 ? jit::real_plane(t.handle()) : jit::imaginary_plane(t.handle()));
    };
    for (Tensor& t : states[i].tensors) t = plane(t);
    begin(updates[i], plane(p), plane(gradient), states[i], &both);
  }
  const UpdateResult results[] = {updates[0]->take_result(), updates[1]->take_result()};
  const auto pair = [&](const Tensor& re, const Tensor& im) {
    return re.defined() ? Tensor(jit::complex(re.handle(), im.handle(), s)) : Tensor();
  };
  state = std::move(states[0]);
  for (size_t t = 0; t < state.tensors.size(); ++t)
    state.tensors[t] = pair(state.tensors[t], states[1].tensors[t]);
  return {pair(results[0].value, results[1].value), pair(results[0].gradient, results[1].gradient)};
}

}  // namespace

void Optimizer::take_back(const Failed& failed) {
  const no_grad scope;
  for (Held& h : held_) {
    Parameter* const p = h.parameter.get();
    if (!p || !p->defined()) continue;
    const Tensor gradient = p->grad();
    if (gradient.defined() && nodes_of(gradient).is_in(failed)) p->zero_grad();
    const std::vector<Replaced> removed = remove_failed(h.replaced, failed, nodes_of(*p));
    if (removed.empty()) continue;
    const Replaced& before = removed.front();
    std::vector<Tensor> tensors(h.state.tensors.size());
    for (size_t t = 0; t < tensors.size(); ++t) tensors[t] = tensor_of(before.tensors[t]);
    Tensor value = tensor_of(before.parameter);
    h.state.tensors = std::move(tensors);
    h.state.step = before.step;
    h.state.product = before.product;
    h.state.step_value = tensor_of(before.step_value);
    h.state.product_value = tensor_of(before.product_value);
    h.state.master = {};
    h.state.master.value = tensor_of(before.master);
    *p = std::move(value);
    if (before.master) h.state.master.rounded_to(*p);
  }
}

void Optimizer::step(Site s) { step_if({}, s); }

void Optimizer::step_unless(const Tensor& skip, const Tensor& factor, Site s) { step_if({skip, factor}, s); }

void Optimizer::step_if(const StepCondition& condition, const Site& s) {
  const no_grad scope;
  const detail::Updating updating;
  note_step();
  std::map<Kind, SharedByKind> kinds;
  StepCondition here = condition;  // on the parameter's device
  bool any = false;
  for (Held& h : held_) {
    Parameter* const p = h.parameter.get();
    if (!p) detail::fail<Error>(name_, "parameter " + h.name + " was destroyed", s);
    if (!p->defined()) continue;
    if (p->frozen())
      detail::fail<Error>(name_, "parameter " + h.name + " is frozen: inference::thaw() the model first", s);
    const Tensor gradient = p->grad(s);
    if (!gradient.defined()) continue;
    h.had_gradient = true;
    if (!any) tell_of_sums(*p, s);
    any = true;
    const FloatMode mode;
    ParameterState& state = h.state;
    state.tensors.resize(state_names().size());
    const Device device = p->device(s);
    const bool counted = state.step_value.defined();
    Kind kind{h.group,
              p->dtype(s),
              counted ? 0 : state.step,
              counted ? 0 : state.product,
              uint64_t{state.master.is_of(*p)} << ParameterState::kMost,
              device.kind,
              device.index,
              node_of(state.step_value),
              node_of(state.product_value)};
    for (size_t i = 0; i < state.tensors.size(); ++i) kind.had |= uint64_t{state.tensors[i].defined()} << i;
    if (is_computed(p->handle())) h.replaced.clear();
    Replaced& replaced = h.replaced.emplace_back();
    replaced.parameter = nodes_of(*p);
    for (size_t i = 0; i < state.tensors.size(); ++i) replaced.tensors[i] = nodes_of(state.tensors[i]);
    replaced.step = state.step;
    replaced.product = state.product;
    replaced.step_value = nodes_of(state.step_value);
    replaced.product_value = nodes_of(state.product_value);
    if (state.master.is_of(*p)) replaced.master = nodes_of(state.master.value);
    if (here.skip.defined()) here.skip = here.skip.to(device, s);
    if (here.factor.defined()) here.factor = here.factor.to(device, s);
    const auto begin = [&](std::optional<Update>& u, const Tensor& value, const Tensor& g,
                           ParameterState& of_it, OfBothPlanes* both) {
      SharedByKind& shared = kinds[kind];
      shared.restart();
      u.emplace(name_, s, value, g, of_it, here, has_master_weights(h.group), shared);
      u->both = both;
      update(*u, h.group);
    };
    const auto update_one = [&] {
      std::optional<Update> u;
      begin(u, *p, gradient, state, nullptr);
      return u->take_result();
    };
    UpdateResult r = is_complex(p->dtype(s)) ? update_planes(*p, gradient, state, begin, s) : update_one();
    if (r.gradient.defined()) p->set_grad(r.gradient, s);
    *p = std::move(r.value);
    if (r.master) state.master.rounded_to(*p);
    replaced.by = nodes_of(*p);
  }
  if (!any) tell_no_gradient(s);
  else if (++steps_ == kStepsToTell) tell_of_untrained(s);
}

void Optimizer::update(Update& u, size_t) const { u.fail<Error>("has no update of one parameter"); }

Tensor Optimizer::step(const std::function<Tensor()>& closure, Site s) {
  Tensor loss;
  {
    const enable_grad scope;
    loss = closure();
  }
  step(s);
  return loss;
}

ParameterList Optimizer::parameters() const {
  std::vector<std::pair<std::string, ParameterRef>> all;
  for (const Held& h : held_) all.emplace_back(h.name, h.parameter);
  return all;
}

void Optimizer::zero_grad(Site s) {
  for (Held& h : held_) {
    Parameter* const p = h.parameter.get();
    if (p && p->defined()) p->zero_grad(s);
  }
}

double Optimizer::option(const std::string& name, size_t group, Site s) const {
  if (group >= groups_)
    detail::fail<IndexError>(
        name_, "there is no group " + std::to_string(group) + " of " + std::to_string(groups_), s);
  for (const Option& o : options_of(group))
    if (o.name == name) return o.get();
  detail::fail<IndexError>(name_, "there is no option " + name, s);
}

void Optimizer::set_option(const std::string& name, double value, size_t group, Site s) {
  const double before = option(name, group, s);
  for (const Option& o : options_of(group))
    if (o.name == name) {
      o.set(value);
      try {
        check_options(group, s);
      } catch (...) {
        o.set(before);
        throw;
      }
    }
}

bool Optimizer::has_option(const std::string& name) const {
  if (groups_ == 0) return false;
  for (const Option& o : options_of(0))
    if (o.name == name) return true;
  return false;
}

double Optimizer::initial_lr(size_t group) {
  double& r = initial_lrs_.at(group);
  if (std::isnan(r)) r = lr(group);
  return r;
}

void Optimizer::set_initial_lr(double lr, size_t group) { initial_lrs_.at(group) = lr; }

}  // namespace lazy::optim
