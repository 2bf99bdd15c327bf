// How a tile group's outer dimensions are cut, for the extents of one run.
#include <algorithm>

#include "jit/plan/tiling/tile_group.hpp"
#include "support/config.hpp"

namespace lazy::jit {
namespace {

// A thread is woken for so much work at least.
constexpr double kNanosecondsWorthAThread = 8000;
// A block's time should hide what starting its kernels costs: some tens of nanoseconds each.
constexpr int64_t kLeastBlockBytes = 32 << 10;
// Rows of a product that make packing its right side for them worth it; and what a value's way through memory
// costs, in those of packing a byte.
constexpr double kRowsWorthAMatrix = 128, kLeastRows = 32;
constexpr double kMemoryOverPacking = 3;
constexpr int64_t kCacheLine = 64;
// Neighbours that a block takes of a kernel's vector axis: fewer, and columns are walked down one by one.
constexpr int64_t kLeastRun = 128;
// So many second-level caches are taken to be in the third.
constexpr double kFarToMemory = 8;

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/// What one index of level `level` touches: bytes that move with it, and bytes that stay.
struct Footprint {
  double moving = 0, fixed = 0, matrix = 0;
};
Footprint footprint(const TileGroup& tile_group, const CapturedGraph& f, const int64_t* extent, int level) {
  Footprint r;
  for (const TileGroup::Source& s : tile_group.sources) {
    auto bytes = static_cast<double>(numel(f.values[s.node]->shape)) * static_cast<double>(size_of(s.dtype));
    for (int l = 0; l <= level; ++l)
      if (s.moves >> l & 1) bytes /= static_cast<double>(extent[l]);
    const bool moves = s.moves >> level & 1;
    (moves ? r.moving : r.fixed) += bytes;
    if (!moves && s.matrix) r.matrix += bytes;
  }
  return r;
}

/// The fewest indices that a block takes of any kernel's vector axis, if that is what is cut.
int64_t shortest_run(const Program& p, const TileGroup& tile_group, const CapturedGraph& f, const Blocks& b) {
  int64_t shortest = INT64_MAX;
  for (uint32_t i = 0; i < tile_group.count; ++i) {
    const Step& s = p.steps[tile_group.first + i];
    const uint8_t dim = tile_group.dim_of[i * tile_group.levels.size() + static_cast<size_t>(b.level)];
    if (s.axis_of[dim] + 1 != s.args.rank) continue;
    int64_t run = b.length;
    for (size_t d = dim + size_t{1}; d < s.dims.size(); ++d) run *= extent_of(s.dims[d], f);
    shortest = std::min(shortest, run);
  }
  return shortest;
}

double bytes_of(const Program& p, const CapturedGraph& f, uint32_t slot) {
  return static_cast<double>(numel(f.values[p.slots[slot].node]->shape)) *
         static_cast<double>(size_of(p.slots[slot].dtype));
}

/// Where a piece's scratch has each inner value of one block.
void place_scratch(const Program& p, const TileGroup& tile_group, const CapturedGraph& f, Blocks& b) {
  int64_t size = 0;
  b.offset.resize(tile_group.inner.size());
  for (size_t i = 0; i < tile_group.inner.size(); ++i) {
    const Slot& slot = p.slots[tile_group.inner[i]];
    const auto donor =
        std::find_if(tile_group.inner.begin(), tile_group.inner.begin() + static_cast<ptrdiff_t>(i),
                     [&](uint32_t s) { return static_cast<int>(s) == slot.donor_slot; });
    if (donor != tile_group.inner.begin() + static_cast<ptrdiff_t>(i)) {
      b.offset[i] = b.offset[static_cast<size_t>(donor - tile_group.inner.begin())];
      continue;
    }
    int64_t bytes = numel(f.values[slot.node]->shape) * static_cast<int64_t>(size_of(slot.dtype));
    for (int l = 0; l <= b.level; ++l) bytes /= b.extent[l];
    b.offset[i] = static_cast<size_t>(size);
    size += round_up(bytes * b.length, kCacheLine);
  }
  b.piece_bytes = static_cast<size_t>(size);
}

/// For a device, all of which works on every block: cut only to keep what is in between small, in blocks that
/// are large enough to fill it.
Blocks choose_device_blocks(const Program& p, const TileGroup& tile_group, const CapturedGraph& f,
                            const Workers& workers) {
  Blocks b;
  const auto levels = static_cast<int>(tile_group.levels.size());
  for (int l = 0; l < levels; ++l) b.extent[l] = extent_of(tile_group.levels[static_cast<size_t>(l)], f);
  double inner = 0, whole = 0;  // bytes: `whole` but for what a part keeps to itself
  for (const uint32_t slot : tile_group.inner) {
    const double bytes = bytes_of(p, f, slot);
    const bool in_part =
        std::any_of(tile_group.parts.begin(), tile_group.parts.end(), [&](const TileGroup& part) {
          return std::find(part.inner.begin(), part.inner.end(), slot) != part.inner.end();
        });
    inner += bytes;
    if (!in_part) whole += bytes;
  }
  const auto asked = static_cast<double>(config::get().block_bytes.get());
  const double budget = asked > 0 ? asked : static_cast<double>(workers.far_bytes);
  if (levels == 0 || whole <= (asked > 0 ? budget : 2 * budget)) return b;
  double one = inner / static_cast<double>(b.extent[0]);
  while (one > budget && b.level + 1 < levels) one /= static_cast<double>(b.extent[++b.level]);
  b.length = std::clamp<int64_t>(static_cast<int64_t>(budget / one), 1, b.extent[b.level]);
  b.cuts = (b.extent[b.level] + b.length - 1) / b.length;
  b.length = (b.extent[b.level] + b.cuts - 1) / b.cuts;
  b.cuts = (b.extent[b.level] + b.length - 1) / b.length;
  b.count = b.cuts;
  for (int l = 0; l < b.level; ++l) b.count *= b.extent[l];
  b.pieces = 1;
  if (b.count < 2 || (asked == 0 && shortest_run(p, tile_group, f, b) < kLeastRun)) return b;
  b.worth_it = true;
  place_scratch(p, tile_group, f, b);
  return b;
}

}  // namespace

Blocks choose_blocks(const Program& p, const TileGroup& tile_group, const CapturedGraph& f,
                     const Workers& workers) {
  if (workers.threads == 0) return choose_device_blocks(p, tile_group, f, workers);
  Blocks b;
  const auto levels = static_cast<int>(tile_group.levels.size());
  int64_t indices = 1;
  for (int l = 0; l < levels; ++l) {
    b.extent[l] = extent_of(tile_group.levels[static_cast<size_t>(l)], f);
    indices *= b.extent[l];
  }
  double total = 0, ns = 0;
  for (const TileGroup::Source& s : tile_group.sources)
    total += static_cast<double>(numel(f.values[s.node]->shape)) * static_cast<double>(size_of(s.dtype));
  const auto asked = static_cast<double>(config::get().block_bytes.get());  // 0: as suits the caches
  if (indices == 0 || (asked == 0 && total < kLeastBlockBytes)) return b;
  for (uint32_t i = tile_group.first; i < tile_group.first + tile_group.count; ++i) {
    double n = 1;
    for (const KernelDim& d : p.steps[i].dims) n *= static_cast<double>(extent_of(d, f));
    if (n == 0) return b;
    ns += n * p.steps[i].kernel->nanoseconds();
  }
  const bool parallel = workers.threads > 1 && (asked > 0 || ns > 2 * kNanosecondsWorthAThread);
  // A product streams its right side past what it keeps: it may fill the second-level cache.
  const bool products =
      std::any_of(tile_group.sources.begin(), tile_group.sources.end(), [](auto& s) { return s.matrix; });
  double budget = asked > 0 ? asked : static_cast<double>(workers.far_bytes) / (products ? 1 : 2);
  if (!parallel && total < budget) return b;
  if (parallel && indices < workers.threads) return b;

  // Where single indices fit the first-level cache with room to spare, few of them at a time are best: while
  // one block is worked on, the memory that the next one reads is on its way already. Where that is no
  // longer way than to the third-level cache, larger blocks, launched less often, are better.
  const auto near = static_cast<double>(workers.near_bytes);
  bool short_rows = false;
  if (asked == 0 && !products)
    for (int l = 0; l < levels && !short_rows; ++l) {
      const Footprint one = footprint(tile_group, f, b.extent, l);
      short_rows = one.fixed + one.moving <= near / 2;
    }
  if (short_rows) budget = total <= kFarToMemory * static_cast<double>(workers.far_bytes) ? near : near / 4;
  const double most = short_rows ? near / 2 : budget;  // of one index
  double matrix = 0;
  for (b.level = 0;; ++b.level) {
    const Footprint one = footprint(tile_group, f, b.extent, b.level);
    if (one.fixed + one.moving > most && b.level + 1 < levels) continue;
    // Rows of a product share its right side, which each block reads, and may pack, again.
    const double room = std::max(budget - one.fixed, budget / 2);
    b.length =
        std::clamp<int64_t>(static_cast<int64_t>(room / std::max(one.moving, 1.0)), 1, b.extent[b.level]);
    if (one.matrix > 0 && asked == 0) {
      const double rows = std::clamp(budget / one.moving, kLeastRows, kRowsWorthAMatrix);
      b.length = std::clamp<int64_t>(static_cast<int64_t>(rows), b.length, b.extent[b.level]);
      matrix = one.matrix;
    }
    break;
  }
  int64_t outside = 1;
  for (int l = 0; l < b.level; ++l) outside *= b.extent[l];
  const int64_t wanted =
      !parallel   ? 1
      : asked > 0 ? workers.threads
                  : std::min<int64_t>(workers.threads, static_cast<int64_t>(ns / kNanosecondsWorthAThread));
  b.cuts = (b.extent[b.level] + b.length - 1) / b.length;
  if (outside * b.cuts < wanted) b.cuts = (wanted + outside - 1) / outside;
  if (outside % wanted != 0 && outside * b.cuts < 8 * wanted) b.cuts = round_up(b.cuts, wanted);
  b.cuts = std::min(b.cuts, b.extent[b.level]);
  b.length = (b.extent[b.level] + b.cuts - 1) / b.cuts;
  b.cuts = (b.extent[b.level] + b.length - 1) / b.length;
  b.count = outside * b.cuts;
  b.pieces = std::min(wanted, b.count);
  if (b.count < 2) return b;
  if (matrix > 0) {
    double inner = 0;
    for (uint32_t slot : tile_group.inner) inner += bytes_of(p, f, slot);
    if (kMemoryOverPacking * inner < matrix * static_cast<double>(b.count)) return b;
  }
  if (asked == 0 && shortest_run(p, tile_group, f, b) < kLeastRun) return b;
  b.worth_it = true;

  place_scratch(p, tile_group, f, b);
  return b;
}

BlockArguments::BlockArguments(const Step& s, const uint8_t* dim_of, const Blocks& b, const CapturedGraph& f,
                               const uint64_t* words, const std::vector<uint8_t>& scratch)
    : at_(s.args), scratch_(scratch) {
  const auto levels = static_cast<size_t>(b.level) + 1;
  for (size_t l = 0; l < levels; ++l) {
    Level level{s.axis_of[dim_of[l]], 1, true};
    for (size_t d = dim_of[l] + size_t{1}; d < s.dims.size() && s.axis_of[d] == level.axis; ++d)
      level.unit *= extent_of(s.dims[d], f);
    if (l + 1 < levels) level.innermost = s.axis_of[dim_of[l + 1]] != level.axis;
    levels_.push_back(level);
  }
  for (int o = 0; o < at_.operands; ++o) {
    base_.push_back(words[at_.pointer(o)]);
    for (const Level& l : levels_)
      steps_.push_back(
          scratch[static_cast<size_t>(o)] ? 0 : l.unit * static_cast<int64_t>(words[at_.stride(o, l.axis)]));
  }
}

void BlockArguments::move(const int64_t* index, int64_t length, char* piece, uint64_t* words) const {
  const size_t levels = levels_.size();
  const int64_t* step = steps_.data();
  for (int o = 0; o < at_.operands; ++o, step += levels) {
    uint64_t p = base_[static_cast<size_t>(o)];
    if (scratch_[static_cast<size_t>(o)]) p += reinterpret_cast<uint64_t>(piece);
    for (size_t l = 0; l < levels; ++l) p += static_cast<uint64_t>(index[l] * step[l]);
    words[at_.pointer(o)] = p;
  }
  for (size_t l = 0; l < levels; ++l) words[at_.origin(levels_[l].axis)] = 0;
  for (size_t l = 0; l < levels; ++l) {
    const Level& level = levels_[l];
    words[at_.origin(level.axis)] += static_cast<uint64_t>(index[l] * level.unit);
    if (l + 1 == levels) words[at_.extent(level.axis)] = static_cast<uint64_t>(length * level.unit);
    else if (level.innermost) words[at_.extent(level.axis)] = static_cast<uint64_t>(level.unit);
  }
}

}  // namespace lazy::jit
