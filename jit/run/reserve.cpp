#include "jit/run/reserve.hpp"

#include <map>

namespace lazy::jit {

void Reserve::plan(const Program& p, size_t first, std::span<const Span> together,
                   std::span<const size_t> bytes, std::span<const size_t> has) {
  const size_t count = p.slots.size();
  ancestor_.assign(count, kNone);
  handed_on_.assign(count, 0);
  fresh_.clear();
  // Memory of a tensor's value has exactly its size, so that a later flush can take it over.
  std::vector<uint8_t> seen(count, 0);
  for (size_t i = p.steps.size(); i-- > 0;)
    for (const uint32_t s : p.steps[i].made) {
      seen[s] |= p.slots[s].kept;
      if (p.slots[s].donor_slot >= 0) seen[static_cast<size_t>(p.slots[s].donor_slot)] |= seen[s];
    }
  std::vector<size_t> owns(count, 0);  // bytes of the memory that the slot has now
  for (size_t s = 0; s < count; ++s)
    if (bytes[s] == kHas) owns[s] = has[s];
  std::multimap<size_t, uint32_t> idle;  // bytes -> the dead slot that has them
  const auto make = [&](uint32_t s) {
    if (bytes[s] == kHas || bytes[s] == kKept) return;
    if (const int donor = p.slots[s].donor_slot; donor >= 0 && bytes[static_cast<size_t>(donor)] != kKept) {
      owns[s] = std::exchange(owns[static_cast<size_t>(donor)], 0);
      return;
    }
    if (bytes[s] == kNothing) return;
    const auto found = seen[s] ? idle.find(bytes[s]) : idle.lower_bound(bytes[s]);
    if (found == idle.end()) {
      fresh_.push_back({s, owns[s] = bytes[s]});
      return;
    }
    ancestor_[s] = found->second;
    handed_on_[found->second] = 1;
    owns[s] = found->first;
    idle.erase(found);
  };
  for (size_t i = together[first].first; i < p.steps.size(); i = together[i].last + size_t{1}) {
    for (size_t j = i; j <= together[i].last; ++j)
      for (const uint32_t s : p.steps[j].made) make(s);
    for (size_t j = i; j <= together[i].last; ++j)
      for (const uint32_t s : p.steps[j].dead)
        if (owns[s]) idle.emplace(std::exchange(owns[s], 0), s);
  }
}

}  // namespace lazy::jit
