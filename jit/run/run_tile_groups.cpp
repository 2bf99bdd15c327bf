#include "jit/run/execution.hpp"

#include "jit/observe/profile.hpp"
#include "jit/plan/names.hpp"
#include "support/metrics.hpp"
#include "support/nvtx.hpp"

namespace lazy::jit {

Run::Planned& Run::planned(const TileGroup& tile_group) {
  auto& all = arguments_.planned;
  for (size_t i = 0; i < planned_; ++i)
    if (all[i]->tile_group == &tile_group) return *all[i];
  if (planned_ == all.size()) all.push_back(std::make_unique<Planned>());
  Planned& fresh = *all[planned_++];
  fresh = {&tile_group, choose_blocks(p_, tile_group, f_, backend_.workers())};
  return fresh;
}

void Run::allocate_scratch(const Blocks& blocks) {
  const size_t bytes = blocks.piece_bytes * static_cast<size_t>(blocks.pieces);
  if (scratch_ && scratch_->bytes() >= bytes) return;
  scratch_.reset();
  scratch_ = BufferRef::allocate(backend_, bytes);
  scratch_->belongs({}, "scratch of tile groups");
}

bool Run::make_outer(const TileGroup& tile_group) {
  const auto& inner = tile_group.inner;
  bool moved = false;
  for (size_t i = tile_group.first; i < tile_group.first + tile_group.count; ++i)
    for (uint32_t slot : p_.steps[i].made) {
      if (buffers_[slot] || std::find(inner.begin(), inner.end(), slot) != inner.end()) continue;
      char* const before = address_[slot];
      make(slot, i);
      moved |= address_[slot] != before;
    }
  return moved;
}

void Run::release_dead(const TileGroup& tile_group) {
  for (size_t i = tile_group.first; i < tile_group.first + tile_group.count; ++i)
    for (uint32_t slot : p_.steps[i].dead) release(slot);
}

bool Run::row_by_row(const TileGroup& tile_group) {
  const size_t end = tile_group.first + tile_group.count;
  // Inner values have addresses that count from 0. Results that aren't made yet have no valid address, but
  // takes() reads those of operands only.
  std::vector<char*> outer(tile_group.inner.size());
  for (size_t k = 0; k < outer.size(); ++k) outer[k] = std::exchange(address_[tile_group.inner[k]], nullptr);
  size_t count = 0;
  bool runs = true;  // no step has an axis without indices
  for (size_t i = tile_group.first; i < end; ++i) {
    count += static_cast<size_t>(p_.steps[i].args.words());
    runs &= bind(i);
  }
  const uint64_t* const words = arguments_.words(tile_group.first);
  if (!runs || !tile_group.rows->takes(words)) {
    for (size_t k = 0; k < outer.size(); ++k) address_[tile_group.inner[k]] = outer[k];
    return false;
  }
  if (make_outer(tile_group))
    for (size_t i = tile_group.first; i < end; ++i) (void)bind(i);
  const nvtx::Range range([&] { return "rows up to " + step_line(p_.steps[end - 1], &f_); });
  const profile::Ticks start = profile::start_time();
  if (capture_) {
    Change change;
    for (size_t i = tile_group.first; i < end; ++i) {
      change.address_bits |= arguments_.changed(i).address_bits;
      change.scalars |= arguments_.changed(i).scalars;
    }
    capture_->launch(*tile_group.rows, words, count, change);
    for (size_t i = tile_group.first; i < end; ++i) arguments_.note_captured(i);
  } else {
    const Words w(words, count);
    tile_group.rows->launch(w.data);
  }
  launches_ += 1;
  metric::add(MetricCounter::tile_groups);
  if (start) {
    if (!backend_.host()) backend_.synchronize();
    event::tile_group(start, profile::now(), p_, tile_group, 1, std::vector<uint64_t>(tile_group.count, 1),
                      words);
  }
  release_dead(tile_group);
  return true;
}

std::vector<BufferRef> Run::packed(const TileGroup& tile_group, uint64_t* words) {
  std::vector<BufferRef> packs;
  const size_t levels = tile_group.levels.size();
  for (size_t k = 0; k < tile_group.count; words += p_.steps[tile_group.first + k].args.words(), ++k) {
    const Step& s = p_.steps[tile_group.first + k];
    const int o = s.sequential < 0 || !s.folds.empty() ? -1 : s.kernel->packs();
    if (o < 0) continue;
    bool moves = false;  // another block has another part of the operand
    for (size_t l = 0; l < levels; ++l)
      moves |= words[s.args.stride(o, s.axis_of[tile_group.dim_of[k * levels + l]])] != 0;
    if (moves) continue;
    BufferRef pack = packed(s, words, {});
    if (!pack) continue;
    words[loop::ArgLayout::kPacked] = reinterpret_cast<uint64_t>(pack->data());
    packs.push_back(std::move(pack));
  }
  return packs;
}

}  // namespace lazy::jit
