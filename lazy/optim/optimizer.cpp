#include "lazy/optim/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <unordered_set>
#include <utility>

#include "lazy/ops/creation.hpp"
#include "lazy/optim/update.hpp"
#include "support/float_mode.hpp"
#include "support/log.hpp"

namespace lazy::optim {

Update::Update(const char* n, const Site& s, Parameter& parameter, const Tensor& gradient, ParameterState& st)
    : Formula(n, s), step(++st.step), product(st.product), parameter_(parameter), state_(st) {
  result = parameter.dtype(s);
  work = is_half(result) ? float32 : result;
  p = term(parameter);
  g = term(gradient);
}

Term Update::filled_with(double v) const { return term(filled(v, work, p.shape(), p.handle())); }

// The parameter takes the value itself if nobody else has it.
void Update::finish(Term value) {
  detail::Handle h = as(result, value.handle());
  value = Term();
  parameter_ = Tensor(std::move(h));
}

void check_range(const char* optimizer, const char* option, double value, double below, const Site& s) {
  if (value >= 0 && value < below) return;
  detail::fail<Error>(optimizer,
                      std::string(option) + " is " + std::to_string(value) + ", not in [0, " +
                          (std::isinf(below) ? "inf" : std::to_string(below)) + ")",
                      s);
}

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
    added.push_back({name, item.parameter, groups_, {}, {}});
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

// Updates of one kind record the same ops with the same numbers. What is one kind follows from steps and
// options, never from numbers that happen to be equal: these are no part of a program's key.
struct Optimizer::Kind {
  size_t group;
  DType dtype;
  int64_t step;
  double product;
  uint64_t had;  // bit i: there is a tensor i of the state
  auto operator<=>(const Kind&) const = default;
};

namespace {

const jit::Node* node_of(const Tensor& x) { return x.defined() ? x.handle().get() : nullptr; }

bool has_value(const Tensor& x) { return x.handle()->ready(); }

}  // namespace

void Optimizer::take_back(const Failed& failed) {
  const no_grad scope;
  for (Held& h : held_) {
    Parameter* const p = h.parameter.get();
    if (!p || !p->defined()) continue;
    const Tensor gradient = p->grad();
    if (gradient.defined() && failed.contains(node_of(gradient))) p->zero_grad();
    const std::vector<Replaced> removed = remove_failed(h.replaced, failed, node_of(*p));
    if (removed.empty()) continue;
    const Replaced& before = removed.front();
    std::vector<Tensor> tensors(h.state.tensors.size());
    for (size_t t = 0; t < std::min(tensors.size(), Replaced::kMost); ++t)
      if (before.tensors[t]) tensors[t] = Tensor(handle_of(before.tensors[t]));
    Tensor value(handle_of(before.parameter));
    h.state.tensors = std::move(tensors);
    h.state.step = before.step;
    h.state.product = before.product;
    *p = std::move(value);
  }
}

void Optimizer::step(Site s) {
  const no_grad scope;
  note_step();
  std::map<Kind, detail::SharedNumbers> numbers;
  bool any = false;
  for (Held& h : held_) {
    Parameter* const p = h.parameter.get();
    if (!p) detail::fail<Error>(name_, "parameter " + h.name + " was destroyed", s);
    if (!p->defined()) continue;
    const Tensor gradient = p->grad(s);
    if (!gradient.defined()) continue;
    any = true;
    const FloatMode mode;
    h.state.tensors.resize(state_names().size());
    Kind kind{h.group, p->dtype(s), h.state.step, h.state.product, 0};
    for (size_t i = 0; i < h.state.tensors.size(); ++i)
      kind.had |= uint64_t{h.state.tensors[i].defined()} << i;
    if (has_value(*p)) h.replaced.clear();
    Replaced& replaced = h.replaced.emplace_back();
    replaced.parameter = node_of(*p);
    for (size_t i = 0; i < std::min(h.state.tensors.size(), Replaced::kMost); ++i)
      replaced.tensors[i] = node_of(h.state.tensors[i]);
    replaced.step = h.state.step;
    replaced.product = h.state.product;
    Update u(name_, s, *p, gradient, h.state);
    u.numbers = &numbers[kind];
    u.numbers->restart();
    update(u, h.group);
    replaced.by = node_of(*p);
  }
  if (!any) tell_no_gradient(s);
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
