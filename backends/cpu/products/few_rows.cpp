// Multiplies few rows of one matrix by copied sides, one or both.
#include <algorithm>

#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/products/strategy.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {
namespace {

constexpr int64_t kMuchToPack = 96 << 10;  // bytes of a packed side from which on threads share the packing

/// Returns the indices of the sequential axis in each of the equal parts that are no longer than `most`.
int64_t part_of(int64_t steps, int64_t most) {
  most = std::max<int64_t>(64, most / 64 * 64);
  return steps <= most ? most : round_up(divide_up(steps, divide_up(steps, most)), 64);
}

}  // namespace

void pack_left(const Product& p, const ProductLaunch& l, const ContractionSides& s, char* to, int64_t pitch,
               const uint64_t* args) {
  const int threads = s.rows * pitch < kMuchToPack ? 1 : l.threads;
  const int64_t grain = round_up(divide_up(s.rows, threads), p.form.rows);
  l.box.each_piece(args, divide_up(s.rows, grain), threads, [&](uint64_t*, int64_t piece) {
    const int64_t row = piece * grain;
    p.packer.pack_left(s, row, std::min(grain, s.rows - row), 0, s.steps, to + row * pitch, pitch);
  });
}

/// Multiplies so few rows that the right side is read once or little more: a block of it is copied to a near
/// cache, then multiplied at once.
void few_rows(const Product& p, const ProductLaunch& l, const ContractionSides& s, const uint64_t* args) {
  const bool left_copied = !p.packer.left_in_place(s), right_copied = p.copies_right(s);
  const int64_t pitch = round_up(p.packer.lane_steps(s.steps) * p.element, 64);
  const Scratch left(left_copied ? p.packer.left_bytes(s.rows, pitch) : 0);
  if (left_copied) pack_left(p, l, s, left.data(), pitch, args);
  // A single row from far memory takes longer runs of fewer columns.
  const bool far = p.right_bytes(s) > far_bytes();
  const int64_t width = (p.form.rows > 1 ? p.form.vectors : far ? 2 : 4) * p.form.lanes;
  const int64_t part = part_of(s.steps, p.near_bytes(far) * p.packer.in_lane() / (width * p.element));
  const int64_t grain = p.columns_each(l, s);
  l.box.each_piece(args, divide_up(s.columns, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const int64_t begin = piece * grain, end = std::min(s.columns, begin + grain);
    ContractionPlan plan;
    plan.left = left_copied ? left.data() : s.left;
    plan.left_row = left_copied ? pitch : s.left_row;
    plan.left_tile_row = 64;
    plan.left_tile_step = 64 * p.form.rows;
    if (!right_copied) {
      plan.right = s.right + begin * p.element;
      plan.right_step = s.right_step;
      plan.right_chunk = p.form.vectors * p.form.lanes * p.element;
      plan.steps = p.packer.lane_steps(s.steps);
      l.box.restrict(mine, p.vector_axis, begin, end);
      return p.launch(l, plan, mine);
    }
    const Scratch panel((p.packer.lane_steps(part) + p.packer.starts()) * width * p.element),
        tiles(s.steps > part ? s.rows * width * p.element : 0);
    LaunchWords one(l.box.layout().words());
    plan.right = panel.data();
    plan.right_step = width * p.element;
    plan.tiles = tiles.data();
    for (int64_t column = begin; column < end; column += width) {
      const int64_t columns = std::min(width, end - column);
      std::copy_n(mine, one.size(), one.data());
      l.box.restrict(one.data(), p.vector_axis, column, column + columns);
      int64_t first = 0;
      do {
        const int64_t steps = std::min(part, s.steps - first);
        p.packer.pack_right(s, first, steps, column, columns, panel.data(), width);
        ContractionPlan now = plan;
        now.left += p.packer.lane_steps(first) * p.element * (p.form.tiles ? p.form.rows : 1);
        now.steps = p.packer.lane_steps(steps);
        now.flags = ContractionPlan::flags_of(first, steps, s.steps);
        p.launch(l, now, one.data());
        first += part;
      } while (first < s.steps);
    }
  });
}

}  // namespace lazy::cpu_backend
