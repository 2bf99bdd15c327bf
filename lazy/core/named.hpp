// Holds tensors under names, as files and modules do.
#pragma once
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lazy/core/tensor.hpp"

namespace lazy {

namespace detail {
/// Takes a name, and the line where it was written.
struct Name {
  std::string_view value;
  Site site;
  template <std::convertible_to<std::string_view> T>
  Name(const T& text, Site s = Site::current()) : value(text), site(s) {}
};
}  // namespace detail

/// Lists tensors under distinct names, in order. Copies share the values.
class NamedTensors {
 public:
  using Entry = std::pair<std::string, Tensor>;

  NamedTensors() = default;
  /// Error for a name that is there twice.
  NamedTensors(std::initializer_list<Entry> entries, Site s = Site::current());

  size_t size() const noexcept { return entries_.size(); }
  bool empty() const noexcept { return entries_.empty(); }
  std::vector<Entry>::const_iterator begin() const noexcept { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const noexcept { return entries_.end(); }
  bool contains(std::string_view name) const { return places_.contains(std::string(name)); }
  /// Returns the tensor of that name. IndexError, which lists the names that there are, if there is none.
  const Tensor& at(std::string_view name, Site s = Site::current()) const;
  const Tensor& operator[](detail::Name name) const { return at(name.value, name.site); }
  /// Adds the tensor at the end, or replaces the one of that name.
  void set(const std::string& name, Tensor value);

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> places_;  // the number of each name's entry
};

}  // namespace lazy
