#include "jit/run/arena.hpp"

#include <algorithm>

namespace lazy::jit {
namespace {

constexpr size_t kAlignment = 256, kMostInAll = size_t{1} << 20, kMostSlots = 1024;

/// Holds the steps at which a value's memory is in use. Steps of a tile group may interleave: a value counts
/// for all.
struct Span {
  size_t first = 0, last = 0;
};

std::vector<Span> steps_together(const Program& p) {
  std::vector<Span> together(p.steps.size());
  for (size_t i = 0; i < together.size(); ++i) together[i] = {i, i};
  for (const TileGroup& b : p.tile_groups)
    for (size_t i = b.first; i < b.first + b.count; ++i) together[i] = {b.first, b.first + b.count - 1};
  return together;
}

}  // namespace

void Arena::assign(const Program& p) {
  offset_.assign(p.slots.size(), kNowhere);
  const auto together = steps_together(p);
  const Span never{p.steps.size(), p.steps.size()};
  std::vector<Span> used(p.slots.size(), never);
  std::vector<uint8_t> seen(p.slots.size(), 0);  // slots whose memory becomes a tensor's value
  for (const Result& r : p.results)
    if (r.slot >= 0) seen[static_cast<size_t>(r.slot)] = 1;
  for (size_t i = 0; i < p.steps.size(); ++i) {
    for (uint32_t s : p.steps[i].made) used[s].first = together[i].first;
    for (uint32_t s : p.steps[i].dead) used[s].last = together[i].last;
  }
  // Donated memory is in use until the last value in it dies.
  for (size_t i = p.steps.size(); i-- > 0;)
    for (uint32_t s : p.steps[i].made) {
      seen[s] |= p.slots[s].kept;
      if (p.slots[s].donor_slot < 0) continue;
      const auto donor = static_cast<size_t>(p.slots[s].donor_slot);
      used[donor].last = std::max(used[donor].last, used[s].last);
      seen[donor] |= seen[s];
    }
  struct Placed {
    Span used;
    size_t from, to;
  };
  std::vector<Placed> placed;  // sorted by where they begin
  for (const Noted& n : noted_) {
    const Span u = used[n.slot];
    if (seen[n.slot] || u.first == never.first || placed.size() == kMostSlots) continue;
    const size_t bytes = (std::max<size_t>(n.bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
    size_t at = 0;
    for (const Placed& o : placed)
      if (o.used.first <= u.last && u.first <= o.used.last && o.from < at + bytes) at = std::max(at, o.to);
    if (at + bytes > kMostInAll) continue;
    const auto after = std::find_if(placed.begin(), placed.end(), [&](auto& o) { return o.from > at; });
    placed.insert(after, {u, at, at + bytes});
    offset_[n.slot] = static_cast<uint32_t>(at);
    bytes_ = std::max(bytes_, at + bytes);
  }
}

}  // namespace lazy::jit
