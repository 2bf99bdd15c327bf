// Saves and loads what optimizers remember.
#include <cmath>
#include <unordered_set>

#include "lazy/core/build.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/optim/progress.hpp"

namespace lazy::optim {
namespace {

std::string prefix(const std::string& parameter) { return "state." + parameter + "."; }
constexpr const char* kMasterName = "master_param";
std::string group_prefix(size_t group) { return "param_groups." + std::to_string(group) + "."; }

const Tensor& one_element(const char* name, const NamedTensors& state, const std::string& key,
                          const Site& s) {
  if (!state.contains(key)) detail::fail<Error>(name, "load_state_dict: there is no " + key, s);
  const Tensor& t = state.at(key, s);
  if (t.numel(s) == 1) return t;
  detail::fail<ShapeError>(name,
                           "load_state_dict: " + key + " has shape " + to_string(t.shape(s)) + ", not []", s);
}

}  // namespace

double loaded_number(const char* name, const NamedTensors& state, const std::string& key, const Site& s) {
  return one_element(name, state, key, s).item<double>(s);
}

NamedTensors saved(const std::vector<std::pair<std::string, Option>>& numbers) {
  NamedTensors all;
  for (const auto& [name, number] : numbers) all.set(name, tensor(number.get(), float64));
  return all;
}

void load(const char* name, const std::vector<std::pair<std::string, Option>>& numbers,
          const NamedTensors& state, const Site& s) {
  std::vector<double> values;
  for (const auto& [key, number] : numbers) values.push_back(loaded_number(name, state, key, s));
  for (size_t i = 0; i < values.size(); ++i) numbers[i].second.set(values[i]);
}

NamedTensors Optimizer::state_dict() const {
  NamedTensors all;
  for (const Held& h : held_) {
    if (h.state.step == 0) continue;
    const ParameterState& state = h.state;
    const std::string at = prefix(h.name);
    all.set(at + "step",
            state.step_value.defined() ? state.step_value.astype(int64) : tensor(state.step, int64));
    if (product_name())
      all.set(at + product_name(),
              state.product_value.defined() ? state.product_value : tensor(state.product, float64));
    for (size_t i = 0; i < state_names().size(); ++i)
      if (state.tensors[i].defined()) all.set(at + state_names()[i], state.tensors[i]);
    const Parameter* const p = h.parameter.get();
    if (p && p->defined() && state.master.is_of(*p)) all.set(at + kMasterName, state.master.value);
  }
  for (size_t g = 0; g < groups_; ++g) {
    for (const Option& o : options_of(g)) all.set(group_prefix(g) + o.name, tensor(o.get(), float64));
    if (!std::isnan(initial_lrs_[g]))
      all.set(group_prefix(g) + "initial_lr", tensor(initial_lrs_[g], float64));
  }
  save_own(all);
  return all;
}

void Optimizer::load_state_dict(const NamedTensors& state, Site s) {
  check_names(state, s);
  std::vector<Held> loaded = held_;
  for (Held& h : loaded) load_parameter(state, h, s);
  load_options(state, s);
  held_ = std::move(loaded);
}

void Optimizer::load_parameter(const NamedTensors& state, Held& h, const Site& s) const {
  const std::string at = prefix(h.name);
  h.state = {};
  h.state.tensors.resize(state_names().size());
  if (!state.contains(at + "step")) return;
  h.replaced.clear();
  h.state.step =
      one_element(name_, state, at + "step", s).astype(int64, s).item<int64_t>(s);  // torch has it as a float
  if (product_name()) h.state.product = loaded_number(name_, state, at + product_name(), s);
  const Parameter* const p = h.parameter.get();
  if (!p || !p->defined()) detail::fail<Error>(name_, "load_state_dict: parameter " + h.name + " is gone", s);
  const DType work = is_half(p->dtype(s)) ? float32 : p->dtype(s);
  const auto loaded = [&](const std::string& name) {
    const Tensor& t = state.at(name, s);
    if (t.shape(s) != p->shape(s))
      detail::fail<ShapeError>(name_,
                               "load_state_dict: " + name + " has shape " + to_string(t.shape(s)) +
                                   ", the parameter " + to_string(p->shape(s)),
                               s);
    return t.astype(work, s).to(p->device(s), s);
  };
  for (size_t i = 0; i < state_names().size(); ++i) {
    const std::string name = at + state_names()[i];
    if (state.contains(name)) h.state.tensors[i] = loaded(name);
    else if (needs(i, h.group)) detail::fail<Error>(name_, "load_state_dict: there is no " + name, s);
  }
  if (state.contains(at + kMasterName)) h.state.master.load(loaded(at + kMasterName));
}

void Optimizer::load_options(const NamedTensors& state, const Site& s) {
  std::vector<std::pair<Option, double>> before;
  const std::vector<double> initial = initial_lrs_;
  try {
    for (size_t g = 0; g < groups_; ++g) {
      for (const Option& o : options_of(g)) {
        if (o.name == "master_weights" && !state.contains(group_prefix(g) + o.name))
          continue;  // an older file
        before.emplace_back(o, o.get());
        o.set(loaded_number(name_, state, group_prefix(g) + o.name, s));
      }
      check_options(g, s);
      const std::string name = group_prefix(g) + "initial_lr";
      if (state.contains(name)) initial_lrs_[g] = loaded_number(name_, state, name, s);
    }
    load_own(state, s);
  } catch (...) {
    for (const auto& [o, value] : before) o.set(value);
    initial_lrs_ = initial;
    throw;
  }
}

void Optimizer::check_names(const NamedTensors& state, const Site& s) const {
  std::unordered_set<std::string> known;
  for (const Held& h : held_) {
    known.insert(prefix(h.name) + "step");
    if (product_name()) known.insert(prefix(h.name) + product_name());
    known.insert(prefix(h.name) + kMasterName);
    for (const char* n : state_names()) known.insert(prefix(h.name) + n);
  }
  for (size_t g = 0; g < groups_; ++g) {
    known.insert(group_prefix(g) + "initial_lr");
    for (const Option& o : options_of(g)) known.insert(group_prefix(g) + o.name);
  }
  for (const auto& [name, value] : state)
    if (!known.contains(name) && !is_own(name))
      detail::fail<Error>(name_, "load_state_dict: " + name + " belongs to no parameter or group", s);
}

}  // namespace lazy::optim
