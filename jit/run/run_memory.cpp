#include "jit/run/execution.hpp"

#include <algorithm>
#include <utility>

#include "support/error.hpp"
#include "support/metrics.hpp"
#include "support/text.hpp"

namespace lazy::jit {
namespace {
// A copy of so many bytes, so many times as many as are changed, is told of.
constexpr size_t kMuchToCopy = 1 << 20, kMuchMore = 16;
}  // namespace

void Run::make(uint32_t slot, size_t step) {
  const Step& s = p_.steps[step];
  const Slot& what = p_.slots[slot];
  if (what.donor_slot >= 0 && buffers_[static_cast<size_t>(what.donor_slot)]->writable()) {
    buffers_[slot] = std::move(buffers_[static_cast<size_t>(what.donor_slot)]);
    address_[slot] = address_[static_cast<size_t>(what.donor_slot)];
    name_memory(slot);
    return donated(bytes_of(slot), s.initial == Initial::copy);
  } else if (takes_input(slot) && may_overwrite(step)) {
    reserve_after(step, slot);
    Node* const donor = f_.values[f_.donors[slot]];
    note_overwritten(f_.donors[slot]);
    buffers_[slot] = donor->buffer;  // the dying input goes on reading it as well
    buffers_[slot]->forget_results();
    name_memory(slot);
    donated(bytes_of(slot), s.initial == Initial::copy);
  } else {
    return allocate(slot);
  }
  address_[slot] = static_cast<char*>(buffers_[slot]->data());
}

void Run::reserve_after(size_t step, uint32_t slot) {
  if (std::exchange(reserved_, true) || step + 1 == p_.steps.size()) return;
  std::vector<Reserve::Span> together(p_.steps.size());
  for (uint32_t i = 0; i < together.size(); ++i) together[i] = {i, i};
  std::vector<uint8_t> scratch(p_.slots.size(), 0);
  reserve_scratch(step, p_.tile_groups, together, scratch);
  std::vector<size_t> bytes(p_.slots.size(), Reserve::kNothing), has(p_.slots.size(), 0);
  for (size_t i = together[step].first; i < p_.steps.size(); ++i)
    for (const uint32_t s : p_.steps[i].made) {
      if (scratch[s] || arguments_.arena.has(s) || takes_input(s)) continue;
      bytes[s] = bytes_of(s);
    }
  for (size_t i = together[step].first; i < p_.steps.size(); ++i)
    for (const Step::Folds& f : p_.steps[i].folds)
      if (f.step > step && folded(i, f))
        for (const uint32_t s : p_.steps[f.step].made) bytes[s] = Reserve::kNothing;
  for (size_t s = 0; s < buffers_.size(); ++s)
    if (buffers_[s]) {
      bytes[s] = buffers_[s]->writable() ? Reserve::kHas : Reserve::kKept;
      has[s] = buffers_[s].get() == arena_.get() ? 0 : buffers_[s]->bytes();
    }
  bytes[slot] = Reserve::kHas;
  has[slot] = bytes_of(slot);
  Reserve plan;
  plan.plan(p_, step, together, bytes, has);
  if (arguments_.arena.bytes() && !arena_) make_arena();
  for (const Reserve::Fresh& f : plan.fresh()) {
    buffers_[f.slot] = memory_for(f.slot, f.bytes);
    address_[f.slot] = static_cast<char*>(buffers_[f.slot]->data());
    if (p_.slots[f.slot].workspace_of == kNone) arguments_.arena.note(f.slot, f.bytes);
  }
  reserve_ = std::move(plan);
}

void Run::reserve_scratch(size_t step, const std::vector<TileGroup>& tile_groups,
                          std::vector<Reserve::Span>& together, std::vector<uint8_t>& scratch) {
  const auto whole = [&](const TileGroup& tile_group) {
    for (uint32_t i = tile_group.first; i < tile_group.first + tile_group.count; ++i)
      together[i] = {tile_group.first, tile_group.first + tile_group.count - 1};
  };
  for (const TileGroup& tile_group : tile_groups) {
    if (tile_group.first + tile_group.count <= step) continue;
    if (tile_group.rows) {  // it is known when it runs if its inner values need memory
      whole(tile_group);
    } else if (Planned& plan = planned(tile_group); plan.blocks.worth_it) {
      whole(tile_group);
      allocate_scratch(plan.blocks);
      for (uint32_t slot : tile_group.inner) scratch[slot] = 1;
    } else {
      reserve_scratch(step, tile_group.parts, together, scratch);
    }
  }
}

void Run::allocate(uint32_t slot) {
  Arena& arena = arguments_.arena;
  if (arena.has(slot)) {
    if (!arena_) make_arena();
    buffers_[slot] = arena_;
    address_[slot] = static_cast<char*>(arena_->data()) + arena.offset(slot);
    return;
  }
  const size_t bytes = bytes_of(slot);
  if (const uint32_t dead = reserve_.ancestor(slot);
      dead != kNone && buffers_[dead] && buffers_[dead]->bytes() >= bytes)
    buffers_[slot] = std::move(buffers_[dead]), name_memory(slot);
  else buffers_[slot] = memory_for(slot, bytes);
  address_[slot] = static_cast<char*>(buffers_[slot]->data());
  if (p_.slots[slot].workspace_of == kNone) arena.note(slot, bytes);
}

void Run::make_arena() {
  arena_ = BufferRef::allocate(backend_, arguments_.arena.bytes());
  arena_->belongs({}, "small values of runs");
}

void Run::name_memory(uint32_t slot) noexcept {
  buffers_[slot]->belongs(f_.values[p_.slots[slot].node]->site);
}

/// Allocates a slot's memory; where there is none, the error says for what.
BufferRef Run::memory_for(uint32_t slot, size_t bytes) {
  try {
    BufferRef made = BufferRef::allocate(backend_, bytes);
    made->belongs(f_.values[p_.slots[slot].node]->site);
    return made;
  } catch (const DeviceError& e) {
    const Node& n = *f_.values[p_.slots[slot].node];
    throw DeviceError(std::string(e.what()) + " for " + name_of(n.op) + ", " + name_of(p_.slots[slot].dtype) +
                      ' ' + to_string(n.shape) + ", recorded at " + lazy::to_string(n.site));
  }
}

void Run::donated(size_t bytes, bool initial) {
  metric::add(MetricCounter::bytes_donated, bytes);
  in_place_ = initial;
}

void Run::initialise(const Step& s) {
  const uint32_t slot = s.made[0];
  if (std::exchange(in_place_, false)) return;
  const Binding& from = s.initial_from;
  const char* data = from.slot >= 0 ? address_[static_cast<size_t>(from.slot)] : f_.values[from.node]->data();
  const size_t bytes = bytes_of(slot);
  backend_.copy(address_[slot], data, bytes);
  if (bytes < kMuchToCopy) return;
  int64_t changed = static_cast<int64_t>(size_of(p_.slots[slot].dtype));
  for (const KernelDim& d : s.dims) changed *= extent_of(d, f_);
  if (static_cast<size_t>(changed) <= bytes / kMuchMore) f_.copied = p_.slots[slot].node;
}

}  // namespace lazy::jit
