// Takes the state of models apart and puts it together.
#include <unordered_set>

#include "lazy/core/build.hpp"
#include "lazy/nn/modules/module.hpp"

namespace lazy::nn {

namespace {

/// Collects what has a name in a dictionary.
struct State final : Visitor {
  struct Item {
    std::string name;
    Parameter* parameter;  // null for a buffer
    Tensor* tensor;        // the parameter, or the buffer
  };
  std::vector<Item> items;

 protected:
  void parameter(const std::string& path, Parameter& p) override { items.push_back({path, &p, &p}); }
  void buffer(const std::string& path, Tensor& b) override { items.push_back({path, nullptr, &b}); }
};

/// Returns the names in quotes, no more than a dozen of them.
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 12;
  std::string r;
  for (size_t i = 0; i < names.size() && i < kMost; ++i) r += (i ? ", '" : "'") + names[i] + "'";
  if (names.size() > kMost) r += " and " + std::to_string(names.size() - kMost) + " more";
  return r;
}

void check_shapes(const std::vector<State::Item>& items, const NamedTensors& state, const Site& s) {
  std::string differ;
  for (const auto& [name, parameter, tensor] : items) {
    if (!state.contains(name)) continue;
    const Shape &here = tensor->shape(s), &there = state.at(name, s).shape(s);
    if (here == there) continue;
    differ += (differ.empty() ? "" : "; ") + ("'" + name + "' is " + lazy::to_string(here)) +
              " in the model and " + lazy::to_string(there) + " in the dictionary";
  }
  if (!differ.empty()) lazy::detail::fail<ShapeError>("load_state_dict", differ, s);
}

void check_names(const IncompatibleKeys& keys, const Site& s) {
  std::string what;
  if (!keys.missing_keys.empty()) what = "the dictionary lacks " + listed(keys.missing_keys);
  if (!keys.unexpected_keys.empty())
    what += (what.empty() ? "" : "; ") + ("the model has no " + listed(keys.unexpected_keys));
  if (!what.empty()) lazy::detail::fail<Error>("load_state_dict", what, s);
}

}  // namespace

NamedTensors Module::state_dict(Site s) const {
  check_members(s);
  State visitor;
  visitor.visit(const_cast<Module&>(*this));  // which only reads
  NamedTensors r;
  for (const auto& [name, parameter, tensor] : visitor.items)
    r.set(name, parameter ? tensor->detach(s) : *tensor);
  return r;
}

IncompatibleKeys Module::load_state_dict(const NamedTensors& state, bool strict, Site s) {
  check_members(s);
  State visitor;
  visitor.visit(*this);
  IncompatibleKeys keys;
  std::unordered_set<std::string_view> known;
  for (const State::Item& item : visitor.items) {
    known.insert(item.name);
    if (!state.contains(item.name)) keys.missing_keys.push_back(item.name);
  }
  for (const auto& [name, tensor] : state)
    if (!known.contains(name)) keys.unexpected_keys.push_back(name);
  check_shapes(visitor.items, state, s);
  if (strict) check_names(keys, s);
  for (const State::Item& item : visitor.items)
    if (item.parameter && item.parameter->frozen())
      lazy::detail::fail<Error>("load_state_dict",
                                "'" + item.name + "' is frozen: inference::thaw() the model first", s);
  const no_grad scope;
  for (const auto& [name, parameter, tensor] : visitor.items) {
    if (!state.contains(name)) continue;
    Tensor value = state.at(name, s).to(tensor->device(s), s).to(tensor->dtype(s), s);
    if (tensor->handle()->channels_last) value = value.to_memory_format(channels_last, s);
    if (parameter) parameter->reset(value, s);
    else *tensor = value.detach(s);
  }
  return keys;
}

}  // namespace lazy::nn
