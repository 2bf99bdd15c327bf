// Launches contractions whose sides both are read as they lie.
#include <algorithm>

#include "backends/cpu/contract.hpp"
#include "backends/cpu/machine/features.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {
namespace {
constexpr int64_t kNearSteps = 16;     // rows that are read at once; more where they are short
constexpr int64_t kFewestSteps = 256;  // indices of the sequential axis between which sums may wait in memory
}  // namespace

/// Multiplies both sides as they lie, in one launch or in one for each thread.
void Contraction::in_place(const Launch& l, const ContractionSides& s, uint64_t* args) const {
  if (l.threads < 2) return l.entry(args);
  for (const int axis : outer_) {
    const int64_t n = l.box.length(args, axis), grain = divide_up(n, l.threads);
    if (n < l.threads) continue;
    return l.box.each_piece(args, divide_up(n, grain), l.threads, [&](uint64_t* mine, int64_t p) {
      l.box.restrict(mine, axis, p * grain, std::min(n, (p + 1) * grain));
      l.entry(mine);
    });
  }
  const bool far = s.steps * s.columns * element_ > static_cast<int64_t>(caches().l2 / 2);
  const ContractionGrid grid = grid_of(form_, s.rows, s.columns, l.threads, far);
  l.box.each_piece(args, grid.pieces, l.threads, [&](uint64_t* mine, int64_t p) {
    restrict(l, grid.block(p), mine);
    l.entry(mine);
  });
}

/// Returns the steps of which all columns stay in the second-level cache while tiles of rows pass, 0 if those
/// are too few.
int64_t Contraction::near_steps(const ContractionSides& s) const {
  const int64_t steps = near_bytes(false) * packer_.in_lane() / (s.columns * element_) / 64 * 64;
  return steps >= kFewestSteps ? steps : 0;
}

/// True if every tile of rows would read all of the right side from beyond the second-level cache, but not
/// if it is passed in parts of near_steps().
bool Contraction::is_long_and_narrow(const ContractionSides& s) const {
  return form_.rows > 1 && s.rows > form_.rows &&
         s.steps * s.columns * element_ > static_cast<int64_t>(caches().l2 / 2) && near_steps(s) > 0;
}

/// Multiplies rows and columns of one matrix as they lie, `part` steps at a time, between which sums wait in
/// memory.
void Contraction::part_by_part(const Launch& l, const ContractionSides& s, int64_t part,
                               const ContractionBlock& b, uint64_t* args) const {
  const Scratch sums(b.rows * round_up(b.columns, form_.lanes) * element_);
  LaunchWords one(l.box.layout().words());
  ContractionPlan plan;
  plan.left_row = s.left_row;
  plan.right_step = s.right_step;
  plan.right_chunk = form_.vectors * form_.lanes * element_;
  plan.tiles = sums.data();
  restrict(l, b, args);
  for (int64_t first = 0; first < s.steps; first += part) {
    plan.left = s.left + b.row * s.left_row + first * element_;
    plan.right = s.right + first * s.right_step + b.column * element_;
    plan.steps = std::min(part, s.steps - first);
    plan.flags = ContractionPlan::flags_of(first, plan.steps, s.steps);
    std::copy_n(args, one.size(), one.data());
    launch(l, plan, one.data());
  }
}

/// Multiplies both sides of one matrix as they lie, near_steps() at a time: all tiles of rows then find the
/// right side in the second-level cache.
void Contraction::in_parts(const Launch& l, const uint64_t* args) const {
  const ContractionSides s = sides(l, args);
  const int64_t tiles = divide_up(s.rows, form_.rows), grain = divide_up(tiles, l.threads) * form_.rows;
  l.box.each_piece(args, divide_up(s.rows, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const int64_t row = piece * grain;
    part_by_part(l, s, near_steps(s), {row, std::min(grain, s.rows - row), 0, s.columns}, mine);
  });
}

/// Multiplies one row by a right side that no near cache holds, a few rows of that at a time: they are read
/// as they lie, while a tile that takes all rows would read short runs. Sums wait in the first-level cache;
/// tiles after the first find those rows in it, or in the second.
void Contraction::row_in_order(const Launch& l, const ContractionSides& s, const uint64_t* args) const {
  const int64_t chunks = divide_up(s.columns, form_.lanes), grain = divide_up(chunks, l.threads),
                width = grain * form_.lanes;
  const int64_t least = s.steps * s.columns * element_ > far_bytes() ? kFarSteps : kNearSteps,
                together = std::max(least, static_cast<int64_t>(2 * caches().l1d) / (s.columns * element_));
  set_next_direction(Direction::down);  // this one goes up
  l.box.each_piece(args, divide_up(chunks, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const int64_t begin = piece * width;
    part_by_part(l, s, together, {0, 1, begin, std::min(width, s.columns - begin)}, mine);
  });
}

}  // namespace lazy::cpu_backend
