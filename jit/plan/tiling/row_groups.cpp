#include "jit/plan/tiling/row_groups.hpp"

#include <algorithm>

#include "jit/ir/attention.hpp"

namespace lazy::jit {
namespace {

bool is_product(const loop::LoopKernel& k) { return k.form == loop::Form::contract; }

/// True if a step's dimensions are the levels, and one more that alone is the kernel's last axis; before
/// them, the one that a product sums along.
bool along_rows(const Step& s, const loop::LoopKernel& k, const uint8_t* dim_of, size_t levels) {
  if (s.initial != Initial::none || levels == 0) return false;
  if (is_product(k)) {
    if (s.dims.size() != levels + 2 || s.axis_of[0] != s.sequential) return false;
    for (size_t l = 0; l < levels; ++l)
      if (dim_of[l] != l + 1 || s.axis_of[l + 1] == k.rank - 1) return false;
    return s.axis_of[levels + 1] == k.rank - 1;
  }
  if (s.dims.size() != levels + 1) return false;
  for (size_t l = 0; l < levels; ++l)
    if (dim_of[l] != l || s.axis_of[l] == k.rank - 1) return false;
  if (s.axis_of[levels] != k.rank - 1) return false;
  switch (k.form) {
    case loop::Form::map: return true;
    case loop::Form::reduce: return k.sequential == k.rank - 1;
    case loop::Form::scan:
    case loop::Form::scatter:
    case loop::Form::contract: break;
  }
  return false;
}

}  // namespace

std::optional<loop::FusedRows> rows_of(const Program& p, const TileGroup& tile_group,
                                       const std::vector<loop::LoopKernel>& loops) {
  const size_t levels = tile_group.levels.size();
  loop::FusedRows rows;
  std::vector<uint8_t> known(tile_group.inner.size(), 0);
  rows.inner.resize(tile_group.inner.size());
  bool products = false;
  for (uint32_t i = 0; i < tile_group.count; ++i) {
    const Step& s = p.steps[tile_group.first + i];
    const loop::LoopKernel& k = loops[tile_group.first + i];
    if (!along_rows(s, k, tile_group.dim_of.data() + i * levels, levels)) return {};
    loop::FusedRows::Member m{k, {}};
    for (size_t o = 0; o < s.operands.size(); ++o) {
      const int slot = s.operands[o].slot;
      const auto at =
          slot < 0 ? tile_group.inner.end()
                   : std::find(tile_group.inner.begin(), tile_group.inner.end(), static_cast<uint32_t>(slot));
      if (at == tile_group.inner.end()) {
        m.inner.push_back(loop::FusedRows::kOutside);
        continue;
      }
      const auto n = static_cast<size_t>(at - tile_group.inner.begin());
      loop::Stride along = k.operands[o].stride[k.rank - 1];
      // A product that sums along the row reads it with a stride that launches look at.
      if (is_product(k) && k.operands[o].stride[k.sequential] != loop::Stride::zero)
        along = loop::Stride::unit;
      loop::FusedRows::Inner& value = rows.inner[n];
      if (k.operands[o].output) {
        if (known[n] || along == loop::Stride::any) return {};
        known[n] = 1;
        value = {k.operands[o].dtype, along == loop::Stride::unit};
      } else if (!known[n] || value.dtype != k.operands[o].dtype || along == loop::Stride::any ||
                 value.whole != (along == loop::Stride::unit)) {
        return {};  // read in another way than it was written: reversed, or as another type
      }
      m.inner.push_back(static_cast<int16_t>(n));
    }
    rows.members.push_back(std::move(m));
    products |= is_product(k);
  }
  if (products && !attention_of(rows)) return {};
  return rows;
}

namespace {

/// Makes values inner whose memory an outer value would take over: here one of a row costs nothing, and that
/// memory a store and a load of each element. True if the tile group is one of rows then.
bool own_what_is_given_away(Program& p, TileGroup& tile_group, const std::vector<loop::LoopKernel>& loops) {
  const std::vector<uint32_t> before = tile_group.inner;
  std::vector<uint32_t> takers;
  const uint32_t end = tile_group.first + tile_group.count;
  std::vector<uint32_t> made;
  for (uint32_t s = tile_group.first; s < end; ++s)
    made.insert(made.end(), p.steps[s].made.begin(), p.steps[s].made.end());
  const auto is_in = [](const std::vector<uint32_t>& v, uint32_t slot) {
    return std::find(v.begin(), v.end(), slot) != v.end();
  };
  std::vector<uint32_t> inner;
  for (const uint32_t slot : made) {
    const auto taker = std::find_if(made.begin(), made.end(), [&](uint32_t by) {
      return p.slots[by].donor_slot == static_cast<int>(slot);
    });
    if (taker != made.end() && !is_in(before, *taker)) takers.push_back(*taker);
    if (taker != made.end() || is_in(before, slot)) inner.push_back(slot);
  }
  if (inner.size() == before.size()) return rows_of(p, tile_group, loops).has_value();
  tile_group.inner = std::move(inner);
  if (!rows_of(p, tile_group, loops)) {
    tile_group.inner = before;
    return rows_of(p, tile_group, loops).has_value();
  }
  for (const uint32_t by : takers) p.slots[by].donor_slot = -1;
  return true;
}

/// Returns steps [first, first + count) of a tile group, of whose values those are inner that no other step
/// reads.
TileGroup cut(const Program& p, const TileGroup& tile_group, uint32_t first, uint32_t count) {
  TileGroup made;
  made.first = first;
  made.count = count;
  made.levels = tile_group.levels;
  const auto dims = tile_group.dim_of.begin() + (first - tile_group.first) * tile_group.levels.size();
  made.dim_of.assign(dims, dims + count * tile_group.levels.size());
  made.sources = tile_group.sources;
  for (uint32_t s = first; s < first + count; ++s)
    for (const uint32_t slot : p.steps[s].made) {
      bool elsewhere =
          std::find(tile_group.inner.begin(), tile_group.inner.end(), slot) == tile_group.inner.end();
      for (uint32_t t = first + count; t < tile_group.first + tile_group.count; ++t)
        for (const Binding& b : p.steps[t].operands) elsewhere |= b.slot == static_cast<int>(slot);
      if (!elsewhere) made.inner.push_back(slot);
    }
  return made;
}

}  // namespace

void keep_row_groups(Program& p, const std::vector<loop::LoopKernel>& loops) {
  std::vector<TileGroup> kept;
  for (TileGroup& tile_group : p.tile_groups) {
    const uint32_t end = tile_group.first + tile_group.count;
    std::vector<TileGroup> rows;
    for (TileGroup& part : tile_group.parts)
      if (own_what_is_given_away(p, part, loops)) part.parts.clear(), rows.push_back(part);
    if (tile_group.parts.empty() && own_what_is_given_away(p, tile_group, loops)) rows.push_back(tile_group);
    // An attention has its softmax as a part, for when it is not worth it.
    for (uint32_t first = tile_group.first; first < end; ++first) {
      for (uint32_t count : {4u, 5u}) {
        if (first + count > end || !is_product(loops[first]) || !is_product(loops[first + count - 1]))
          continue;
        TileGroup whole = cut(p, tile_group, first, count);
        if (!own_what_is_given_away(p, whole, loops)) continue;
        const auto inside = [&](const TileGroup& b) { return b.first >= first && b.first < first + count; };
        const auto at = std::find_if(rows.begin(), rows.end(), inside);
        const auto past = std::find_if_not(at, rows.end(), inside);
        whole.parts.assign(at, past);
        rows.insert(rows.erase(at, past), std::move(whole));
        first += count - 1;
        break;
      }
    }
    const auto product = [&](const TileGroup& b) { return is_product(loops[b.first]); };
    const bool multiplies = std::any_of(loops.begin() + tile_group.first, loops.begin() + end, is_product);
    if (!tile_group.inner.empty() && multiplies && std::none_of(rows.begin(), rows.end(), product)) {
      tile_group.parts = std::move(rows);
      kept.push_back(std::move(tile_group));
    } else {
      kept.insert(kept.end(), rows.begin(), rows.end());
    }
  }
  p.tile_groups = std::move(kept);
}

}  // namespace lazy::jit
