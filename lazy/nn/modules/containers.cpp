#include "lazy/nn/modules/containers.hpp"

#include <algorithm>

#include "lazy/core/build.hpp"

namespace lazy::nn {

using lazy::detail::fail;

namespace detail {

void throw_not_callable(const Module& m, bool as_const, const Site& s) {
  lazy::detail::fail<Error>("call",
                            as_const
                                ? m.name() + " can't be called with a tensor while it is const"
                                : m.name() + " does not take one tensor; get<" + m.name() + ">() gives it",
                            s);
}
void throw_not_copyable(const Module& m) { throw Error("copy: a " + m.name() + " can't be copied"); }
void throw_out_of_range(const char* list, int64_t i, size_t size, const Site& s) {
  lazy::detail::fail<IndexError>(
      list, "there is no module " + std::to_string(i) + " of " + std::to_string(size), s);
}
void throw_other_type(const Module& found, const std::type_info& wanted, const Site& s) {
  lazy::detail::fail<Error>("get", "the module is a " + found.name() + ", not a " + type_name(wanted), s);
}

}  // namespace detail

void NamedModules::add(std::string name, AnyModule m, const Site& s) {
  if (name.empty() || name.find('.') != name.npos)
    fail<Error>(this->name().c_str(), "'" + name + "' can't be a module's name: it is empty or has a dot", s);
  for (const Item& item : items_)
    if (item.first == name) fail<Error>(this->name().c_str(), "the name '" + name + "' is there twice", s);
  items_.emplace_back(std::move(name), std::move(m));
}

AnyModule& NamedModules::at(const char* list, int64_t i, const Site& s) {
  const int64_t n = static_cast<int64_t>(items_.size());
  if (i < -n || i >= n) detail::throw_out_of_range(list, i, items_.size(), s);
  return items_[static_cast<size_t>(i < 0 ? i + n : i)].second;
}

Sequential::Sequential(std::initializer_list<std::pair<std::string, AnyModule>> named, Site s) {
  for (const auto& [name, m] : named) add(name, m, s);
}

namespace {

template <class Items>
Tensor in_turn(Items& items, Arg x) {
  const Site site = x.site();
  if (items.empty()) return Tensor(x.take());
  auto item = items.begin();
  Tensor y = item->second(std::move(x));
  while (++item != items.end()) y = item->second(Arg(std::move(y), site));
  return y;
}

}  // namespace

Tensor Sequential::operator()(Arg x) { return in_turn(items_, std::move(x)); }
Tensor Sequential::operator()(Arg x) const { return in_turn(items_, std::move(x)); }

ModuleDict::ModuleDict(std::initializer_list<std::pair<std::string, AnyModule>> named, Site s) {
  for (const auto& [name, m] : named) add(name, m, s);
}

bool ModuleDict::contains(std::string_view name) const {
  return std::any_of(items_.begin(), items_.end(), [&](const Item& item) { return item.first == name; });
}

AnyModule& ModuleDict::at(std::string_view name, Site s) {
  std::string names;
  for (Item& item : items_) {
    if (item.first == name) return item.second;
    names += (names.empty() ? "'" : ", '") + item.first + "'";
  }
  fail<IndexError>("ModuleDict",
                   "there is no '" + std::string(name) + "' among " + (names.empty() ? "no modules" : names),
                   s);
}

}  // namespace lazy::nn
