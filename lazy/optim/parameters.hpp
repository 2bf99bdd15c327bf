// Lists parameters, as optimizers take them: a few in braces, or what a model's parameters() or
// named_parameters() returns.
//
//   SGD a({w, b}, {.lr = 0.1});
//   SGD b(model.named_parameters(), {.lr = 0.1});
#pragma once
#include <concepts>
#include <initializer_list>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lazy/autograd/parameter.hpp"

namespace lazy::optim {

/// Refers to one parameter, which may have a name.
struct ParameterItem {
  ParameterItem(Parameter& p) : parameter(p.ref()) {}
  ParameterItem(Parameter* p) : parameter(p ? p->ref() : ParameterRef()) {}
  ParameterItem(ParameterRef p) : parameter(std::move(p)) {}
  template <class P>
  requires std::convertible_to<P, ParameterItem> ParameterItem(const std::pair<std::string, P>& named)
      : ParameterItem(named.second) {
    name = named.first;
  }

  std::string name;  // empty if it has none
  ParameterRef parameter;
};

/// Lists parameters in order.
class ParameterList {
 public:
  ParameterList() = default;
  ParameterList(Parameter& p) : items_{p} {}
  ParameterList(std::initializer_list<ParameterItem> items) : items_(items) {}
  template <std::ranges::input_range R>
  requires(!std::same_as<std::remove_cvref_t<R>, ParameterList> &&
           std::convertible_to<std::ranges::range_reference_t<R>, ParameterItem>) ParameterList(R&& range) {
    for (auto&& p : range) items_.emplace_back(std::forward<decltype(p)>(p));
  }

  size_t size() const noexcept { return items_.size(); }
  bool empty() const noexcept { return items_.empty(); }
  std::vector<ParameterItem>::const_iterator begin() const noexcept { return items_.begin(); }
  std::vector<ParameterItem>::const_iterator end() const noexcept { return items_.end(); }
  const ParameterItem& operator[](size_t i) const { return items_[i]; }

 private:
  std::vector<ParameterItem> items_;
};

}  // namespace lazy::optim
