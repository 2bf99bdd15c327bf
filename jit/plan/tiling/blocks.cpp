// Decides how a tile group's outer dimensions are cut, for the extents of one run.
#include <algorithm>
#include <optional>

#include "jit/core/bytes.hpp"
#include "jit/plan/tiling/tile_group.hpp"
#include "support/arithmetic.hpp"
#include "support/config.hpp"

namespace lazy::jit {
namespace {

// A thread is woken for so many nanoseconds of work at least.
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
// A kernel of a group matters if it has one of so many indices of the largest one.
constexpr double kIndicesThatMatter = 256;
// Rows of a block that leaves out what they don't need, and how many such blocks are enough.
constexpr int64_t kRowsToSkip = 32, kCutsToSkip = 8;
// Kernels take so many short rows at once; what is left of a block goes row by row, which takes longer.
constexpr int64_t kRowsTogether = 4;
// One row may fill so many first-level caches for blocks of one row to be best.
constexpr double kNearsOfRow = 3;
// The third-level cache is taken to be as large as so many second-level caches.
constexpr double kFarToMemory = 8;

double bytes_in(const Slot& slot, const CapturedGraph& f) {
  return static_cast<double>(bytes_of(f.values[slot.node]->shape, slot.dtype));
}
double bytes_in(const TileGroup::Source& s, const CapturedGraph& f) {
  return static_cast<double>(bytes_of(f.values[s.node]->shape, s.dtype));
}

/// Counts what one index of a level touches: bytes that move with it, and bytes that stay.
struct Footprint {
  double moving = 0, fixed = 0, matrix = 0;
};
Footprint footprint(const TileGroup& tile_group, const CapturedGraph& f, const int64_t* extent, int level) {
  Footprint r;
  for (const TileGroup::Source& s : tile_group.sources) {
    double bytes = bytes_in(s, f);
    for (int l = 0; l <= level; ++l)
      if (s.moves >> l & 1) bytes /= static_cast<double>(extent[l]);
    const bool moves = s.moves >> level & 1;
    (moves ? r.moving : r.fixed) += bytes;
    if (!moves && s.matrix) r.matrix += bytes;
  }
  return r;
}

double indices_of(const Step& s, const CapturedGraph& f) {
  double n = 1;
  for (const KernelDim& d : s.dims) n *= static_cast<double>(extent_of(d, f));
  return n;
}

/// Returns the fewest indices that a block takes of any kernel's vector axis, if that is what is cut. Kernels
/// of so few indices that their time doesn't matter don't count: those of one number a row.
int64_t shortest_run(const Program& p, const TileGroup& tile_group, const CapturedGraph& f, const Blocks& b) {
  int64_t shortest = INT64_MAX;
  double most = 0;
  for (uint32_t i = 0; i < tile_group.count; ++i)
    most = std::max(most, indices_of(p.steps[tile_group.first + i], f));
  for (uint32_t i = 0; i < tile_group.count; ++i) {
    const Step& s = p.steps[tile_group.first + i];
    if (indices_of(s, f) * kIndicesThatMatter < most) continue;
    const uint8_t dim = tile_group.dim_of[i * tile_group.levels.size() + static_cast<size_t>(b.level)];
    if (s.axis_of[dim] + 1 != s.args.rank) continue;
    int64_t run = b.length;
    for (size_t d = dim + size_t{1}; d < s.dims.size(); ++d) run *= extent_of(s.dims[d], f);
    shortest = std::min(shortest, run);
  }
  return shortest;
}

/// Finds a place in a piece's scratch for each inner value of one block.
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
    auto bytes = static_cast<int64_t>(bytes_of(f.values[slot.node]->shape, slot.dtype));
    for (int l = 0; l <= b.level; ++l) bytes /= b.extent[l];
    b.offset[i] = static_cast<size_t>(size);
    size += round_up(bytes * b.length, kCacheLine);
  }
  b.piece_bytes = static_cast<size_t>(size);
}

/// Returns blocks that are not cut yet.
Blocks whole(const TileGroup& tile_group, const CapturedGraph& f) {
  Blocks b;
  for (size_t l = 0; l < tile_group.levels.size(); ++l) b.extent[l] = extent_of(tile_group.levels[l], f);
  return b;
}

/// Cuts the level into `cuts` blocks, or somewhat fewer, of nearly one length.
void cut_evenly(Blocks& b, int64_t cuts) {
  b.length = divide_up(b.extent[b.level], cuts);
  b.cuts = divide_up(b.extent[b.level], b.length);
}

/// Chooses blocks for a device, all of which works on every block: cut only so that what is in between stays
/// small, in blocks that are large enough to fill it.
Blocks choose_device_blocks(const Program& p, const TileGroup& tile_group, const CapturedGraph& f,
                            const Workers& workers) {
  Blocks b = whole(tile_group, f);
  const auto levels = static_cast<int>(tile_group.levels.size());
  double inner = 0, shared = 0;  // bytes: `shared` but for what is private to a part
  for (const uint32_t slot : tile_group.inner) {
    const double bytes = bytes_in(p.slots[slot], f);
    const bool in_part =
        std::any_of(tile_group.parts.begin(), tile_group.parts.end(), [&](const TileGroup& part) {
          return std::find(part.inner.begin(), part.inner.end(), slot) != part.inner.end();
        });
    inner += bytes;
    if (!in_part) shared += bytes;
  }
  const auto asked = static_cast<double>(config::get().block_bytes.get());
  const double budget = asked > 0 ? asked : static_cast<double>(workers.far_bytes);
  if (levels == 0 || shared <= (asked > 0 ? budget : 2 * budget)) return b;
  double one = inner / static_cast<double>(b.extent[0]);
  while (one > budget && b.level + 1 < levels) one /= static_cast<double>(b.extent[++b.level]);
  b.length = std::clamp<int64_t>(static_cast<int64_t>(budget / one), 1, b.extent[b.level]);
  cut_evenly(b, divide_up(b.extent[b.level], b.length));
  b.count = b.cuts;
  for (int l = 0; l < b.level; ++l) b.count *= b.extent[l];
  b.pieces = 1;
  if (b.count < 2 || (asked == 0 && shortest_run(p, tile_group, f, b) < kLeastRun)) return b;
  b.worth_it = true;
  place_scratch(p, tile_group, f, b);
  return b;
}

/// Returns the time of the steps one after the other on one thread, in nanoseconds; none if a step has no
/// index.
std::optional<double> time_of(const Program& p, const TileGroup& tile_group, const CapturedGraph& f) {
  double ns = 0;
  for (uint32_t i = tile_group.first; i < tile_group.first + tile_group.count; ++i) {
    const double n = indices_of(p.steps[i], f);
    if (n == 0) return {};
    ns += n * p.steps[i].kernel->nanoseconds();
  }
  return ns;
}

/// Returns what one index touches of the first level of which it fits in so many bytes; none if no level's
/// does.
std::optional<Footprint> row_within(double bytes, const TileGroup& tile_group, const CapturedGraph& f,
                                    const Blocks& b) {
  for (int l = 0; l < static_cast<int>(tile_group.levels.size()); ++l)
    if (const Footprint one = footprint(tile_group, f, b.extent, l); one.fixed + one.moving <= bytes)
      return one;
  return {};
}

/// Limits what a block may touch, in bytes.
struct Budget {
  double block = 0;
  double index = 0;  // of one index of the level that is cut
};

/// Chooses the level that is cut and how many of its indices a block has, not looking at threads. Returns the
/// bytes of products' right sides that each block reads, and may pack, again.
double choose_length(const TileGroup& tile_group, const CapturedGraph& f, const Budget& budget, bool asked,
                     Blocks& b) {
  const auto levels = static_cast<int>(tile_group.levels.size());
  Footprint one = footprint(tile_group, f, b.extent, b.level);
  while (one.fixed + one.moving > budget.index && b.level + 1 < levels)
    one = footprint(tile_group, f, b.extent, ++b.level);
  const int64_t extent = b.extent[b.level];
  const double room = std::max(budget.block - one.fixed, budget.block / 2);
  b.length = std::clamp<int64_t>(static_cast<int64_t>(room / std::max(one.moving, 1.0)), 1, extent);
  if (one.matrix <= 0 || asked) return 0;
  // Rows of a product share its right side: one that comes from beyond the second-level cache for every block
  // costs more than values in between that do, as long as these stay in the third-level cache.
  const double least = one.matrix > budget.block / 2 ? std::clamp(kFarToMemory * budget.block / one.moving,
                                                                  kLeastRows, kRowsWorthAMatrix)
                                                     : kLeastRows;
  const double rows = std::clamp(budget.block / one.moving, least, kRowsWorthAMatrix);
  b.length = std::clamp<int64_t>(static_cast<int64_t>(rows), b.length, extent);
  return one.matrix;
}

/// True if the rows of blocks may leave out a part of a box of a size that makes it worth it.
bool may_skip(const TileGroup& tile_group, const Blocks& b) {
  return !tile_group.skips.empty() && b.extent[tile_group.levels.size() - 1] >= 2 * kRowsToSkip;
}
/// True if less is left out of blocks of more rows: not if a mask is the same for all rows.
bool skips_by_row(const Program& p, const TileGroup& tile_group) {
  if (!tile_group.skips.front().masked) return true;
  const Mask& m = tile_group.mask;
  const uint8_t level = tile_group.dims_of(m.step)[tile_group.levels.size() - 1];
  return p.steps[m.step].operands[m.operand].dim_of[level] != Binding::kAbsent;
}

/// Makes blocks of rows, which is what leaves out something; `few`: of so few that they leave out nearly half
/// of a triangle.
void choose_rows(const TileGroup& tile_group, bool few, Blocks& b) {
  const auto last = static_cast<int>(tile_group.levels.size()) - 1;
  if (b.level < last) b.level = last, b.length = b.extent[last];
  if (few) b.length = std::min(b.length, std::max(kRowsToSkip, divide_up(b.extent[last], kCutsToSkip)));
}

/// Cuts the level so that `wanted` threads have as much to do as each other.
void choose_cuts(int64_t wanted, Blocks& b) {
  int64_t outside = 1;
  for (int l = 0; l < b.level; ++l) outside *= b.extent[l];
  int64_t cuts = divide_up(b.extent[b.level], b.length);
  if (outside * cuts < wanted) cuts = divide_up(wanted, outside);
  if (outside % wanted != 0 && outside * cuts < 8 * wanted) cuts = round_up(cuts, wanted);
  cut_evenly(b, std::min(cuts, b.extent[b.level]));
  if (b.length >= 2 * kRowsTogether && b.cuts >= 4 * wanted) {
    b.length = round_up(b.length, kRowsTogether);
    b.cuts = divide_up(b.extent[b.level], b.length);
  }
  b.count = outside * b.cuts;
  b.pieces = std::min(wanted, b.count);
}

/// True if packing right sides for each block costs more than the values in between cost in memory.
bool packs_too_much(const Program& p, const TileGroup& tile_group, const CapturedGraph& f, double matrix,
                    const Blocks& b) {
  double inner = 0;
  for (const uint32_t slot : tile_group.inner) inner += bytes_in(p.slots[slot], f);
  return kMemoryOverPacking * inner < matrix * static_cast<double>(b.count);
}

}  // namespace

Blocks choose_blocks(const Program& p, const TileGroup& tile_group, const CapturedGraph& f,
                     const Workers& workers) {
  if (workers.all_on_each_block) return choose_device_blocks(p, tile_group, f, workers);
  Blocks b = whole(tile_group, f);
  int64_t indices = 1;
  for (size_t l = 0; l < tile_group.levels.size(); ++l) indices *= b.extent[l];
  double total = 0;
  for (const TileGroup::Source& s : tile_group.sources) total += bytes_in(s, f);
  const auto bytes_asked = static_cast<double>(config::get().block_bytes.get());
  const bool asked = bytes_asked > 0;  // else as suits the caches
  if (indices == 0 || (!asked && total < kLeastBlockBytes)) return b;
  const std::optional<double> time = time_of(p, tile_group, f);
  if (!time) return b;
  const double ns = *time;
  const bool parallel = workers.threads > 1 && (asked || ns > 2 * kNanosecondsWorthAThread);
  // A product streams its right side past what stays in the cache: it may fill the second-level cache.
  const bool products =
      std::any_of(tile_group.sources.begin(), tile_group.sources.end(), [](auto& s) { return s.matrix; });
  const auto near = static_cast<double>(workers.near_bytes), far = static_cast<double>(workers.far_bytes);
  const double most = asked ? bytes_asked : far / (products ? 1 : 2);
  const bool rows = !asked && may_skip(tile_group, b), skips = rows && skips_by_row(p, tile_group);
  if (!parallel && total < most && !skips) return b;
  if (parallel && indices < workers.threads) return b;

  // If single indices fit the first-level cache or nearly so, few of them at a time are best: while one block
  // is worked on, the memory that the next one reads is on its way already. Half that cache, for what one
  // block stores and the next one reads lies there too; but as many as kernels take at once, if these fit it
  // and memory isn't far.
  Budget budget{most, most};
  double most_row = near / 2;
  std::optional<Footprint> row = row_within(most_row, tile_group, f, b);
  if (!row) row = row_within(most_row = kNearsOfRow * near, tile_group, f, b);
  if (row && !asked && !products) {
    const double together = row->fixed + kRowsTogether * row->moving;
    const bool waits = total > kFarToMemory * far;
    budget.block = together <= near && !waits ? std::max(together, near / 2) : near / 2;
    budget.index = most_row;
  }
  const double matrix = choose_length(tile_group, f, budget, asked, b);
  if (rows) choose_rows(tile_group, skips, b);
  choose_cuts(!parallel ? 1
              : asked
                  ? workers.threads
                  : std::min<int64_t>(workers.threads, static_cast<int64_t>(ns / kNanosecondsWorthAThread)),
              b);
  if (b.count < 2 || (matrix > 0 && !skips && packs_too_much(p, tile_group, f, matrix, b))) return b;
  if (!asked && shortest_run(p, tile_group, f, b) < kLeastRun) return b;
  b.worth_it = true;
  place_scratch(p, tile_group, f, b);
  return b;
}

BlockArguments::BlockArguments(const Step& s, const uint8_t* dim_of, const Blocks& b, const CapturedGraph& f,
                               const uint64_t* words, const std::vector<uint8_t>& scratch)
    : at_(s.args), scratch_(scratch), length_(b.length) {
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

void BlockArguments::add_changes(size_t first, std::vector<Change>& changes) const {
  const auto add = [&](int word, int64_t by) {
    if (by != 0) changes.push_back({first + static_cast<size_t>(word), static_cast<uint64_t>(by)});
  };
  const size_t levels = levels_.size();
  for (int o = 0; o < at_.operands; ++o)
    add(at_.pointer(o), steps_[static_cast<size_t>(o) * levels + levels - 1] * length_);
  add(at_.origin(levels_.back().axis), levels_.back().unit * length_);
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
