// Launches contractions whose sides both are read as they lie.
#include <algorithm>

#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/products/strategy.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {
namespace {
constexpr int64_t kNearSteps = 16;  // rows that are read at once; more where they are short

/// Multiplies rows and columns of one matrix as they lie, `part` steps at a time, between which sums wait in
/// memory.
void part_by_part(const Product& p, const ProductLaunch& l, const ContractionSides& s, int64_t part,
                  const ContractionBlock& b, uint64_t* args) {
  const Scratch sums(b.rows * round_up(b.columns, p.form.lanes) * p.element);
  LaunchWords one(l.box.layout().words());
  ContractionPlan plan;
  plan.left_row = s.left_row;
  plan.right_step = s.right_step;
  plan.right_chunk = p.form.vectors * p.form.lanes * p.element;
  plan.tiles = sums.data();
  p.restrict(l, b, args);
  for (int64_t first = 0; first < s.steps; first += part) {
    plan.left = s.left + b.row * s.left_row + first * p.element;
    plan.right = s.right + first * s.right_step + b.column * p.element;
    plan.steps = std::min(part, s.steps - first);
    plan.flags = ContractionPlan::flags_of(first, plan.steps, s.steps);
    std::copy_n(args, one.size(), one.data());
    p.launch(l, plan, one.data());
  }
}

}  // namespace

/// Multiplies both sides as they lie, in one launch or in one for each thread.
void in_place(const Product& p, const ProductLaunch& l, const ContractionSides& s, uint64_t* args) {
  if (l.threads < 2) return l.entry(args);
  for (const int axis : p.outer) {
    const int64_t n = l.box.length(args, axis), grain = divide_up(n, l.threads);
    if (n < l.threads) continue;
    return l.box.each_piece(args, divide_up(n, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
      l.box.restrict(mine, axis, piece * grain, std::min(n, (piece + 1) * grain));
      l.entry(mine);
    });
  }
  const bool far = p.right_bytes(s) > static_cast<int64_t>(caches().l2 / 2);
  const ContractionGrid grid = grid_of(p.form, s.rows, s.columns, l.threads, far);
  l.box.each_piece(args, grid.pieces, l.threads, [&](uint64_t* mine, int64_t piece) {
    p.restrict(l, grid.block(piece), mine);
    l.entry(mine);
  });
}

/// Multiplies both sides of one matrix as they lie, near_steps() at a time: all tiles of rows then find the
/// right side in the second-level cache.
void in_parts(const Product& p, const ProductLaunch& l, const ContractionSides& s, const uint64_t* args) {
  const int64_t tiles = divide_up(s.rows, p.form.rows), grain = divide_up(tiles, l.threads) * p.form.rows;
  l.box.each_piece(args, divide_up(s.rows, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const int64_t row = piece * grain;
    part_by_part(p, l, s, p.near_steps(s), {row, std::min(grain, s.rows - row), 0, s.columns}, mine);
  });
}

/// Multiplies one row by a right side that no near cache holds, a few rows of that at a time: they are read
/// as they lie, while a tile that takes all rows would read short runs. Sums wait in the first-level cache;
/// tiles after the first find those rows in it, or in the second.
void row_in_order(const Product& p, const ProductLaunch& l, const ContractionSides& s, const uint64_t* args) {
  const int64_t chunks = divide_up(s.columns, p.form.lanes), grain = divide_up(chunks, l.threads),
                width = grain * p.form.lanes;
  const int64_t least = p.right_bytes(s) > far_bytes() ? kFarSteps : kNearSteps,
                together = std::max(least, static_cast<int64_t>(2 * caches().l1d) / (s.columns * p.element));
  set_next_direction(Direction::down);  // this one goes up
  l.box.each_piece(args, divide_up(chunks, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const int64_t begin = piece * width;
    part_by_part(p, l, s, together, {0, 1, begin, std::min(width, s.columns - begin)}, mine);
  });
}

}  // namespace lazy::cpu_backend
