#include "lazy/core/named.hpp"

#include "lazy/core/build.hpp"

namespace lazy {

NamedTensors::NamedTensors(std::initializer_list<Entry> entries, Site s) {
  for (const Entry& e : entries) {
    if (contains(e.first))
      detail::fail<Error>("NamedTensors", "the name '" + e.first + "' is there twice", s);
    set(e.first, e.second);
  }
}

const Tensor& NamedTensors::at(std::string_view name, Site s) const {
  const auto place = places_.find(std::string(name));
  if (place != places_.end()) return entries_[place->second].second;
  constexpr size_t kMost = 8;  // names in the message
  std::string names;
  for (size_t i = 0; i < entries_.size() && i < kMost; ++i)
    names += (i ? ", '" : "'") + entries_[i].first + "'";
  if (entries_.size() > kMost) names += " and " + std::to_string(entries_.size() - kMost) + " more";
  detail::fail<IndexError>("at",
                           "there is no '" + std::string(name) + "' among " +
                               (entries_.empty() ? std::string("no tensors") : names),
                           s);
}

void NamedTensors::set(const std::string& name, Tensor value) {
  const auto [place, added] = places_.try_emplace(name, entries_.size());
  if (added) entries_.emplace_back(name, std::move(value));
  else entries_[place->second].second = std::move(value);
}

}  // namespace lazy
