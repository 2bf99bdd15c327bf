// Multiplies few rows by a right side that was packed once for all launches.
#include <algorithm>

#include "backends/cpu/products/strategy.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {

void few_rows_by_packed(const Product& p, const ProductLaunch& l, const ContractionSides& s,
                        const uint64_t* args) {
  const bool left_copied = !p.packer.left_in_place(s);
  const int64_t pitch = round_up(p.packer.lane_steps(s.steps) * p.element, 64);
  const Scratch left(left_copied ? p.packer.left_bytes(s.rows, pitch) : 0);
  if (left_copied) pack_left(p, l, s, left.data(), pitch, args);
  const PackedRight r = p.packed_right(s);
  // A kernel whose widest tile is one chunk goes from chunk to chunk by itself.
  const bool at_once = r.parts == 1 && r.width == p.form.vectors * p.form.lanes;
  const int64_t grain = round_up(divide_up(s.columns, l.threads), r.width);
  l.box.each_piece(args, divide_up(s.columns, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const int64_t begin = piece * grain, end = std::min(s.columns, begin + grain);
    ContractionPlan plan;
    plan.left = left_copied ? left.data() : s.left;
    plan.left_row = left_copied ? pitch : s.left_row;
    plan.left_tile_row = 64;
    plan.left_tile_step = 64 * p.form.rows;
    plan.right_step = r.width * p.element;
    plan.right_chunk = r.chunk_bytes;
    const int64_t width = at_once ? end - begin : r.width;
    const Scratch tiles(r.parts > 1 ? s.rows * width * p.element : 0);
    plan.tiles = tiles.data();
    LaunchWords one(l.box.layout().words());
    for (int64_t column = begin; column < end; column += width) {
      std::copy_n(mine, one.size(), one.data());
      l.box.restrict(one.data(), p.vector_axis, column, std::min(column + width, end));
      for (int64_t part = 0; part < r.parts; ++part) {
        const int64_t first = part * r.part, steps = std::min(r.part, s.steps - first);
        ContractionPlan now = plan;
        now.left += p.packer.lane_steps(first) * p.element * (p.form.tiles ? p.form.rows : 1);
        now.right = l.packed + part * r.part_bytes() + column / r.width * r.chunk_bytes;
        now.steps = p.packer.lane_steps(steps);
        now.flags = ContractionPlan::flags_of(first, steps, s.steps);
        p.launch(l, now, one.data());
      }
    }
  });
}

}  // namespace lazy::cpu_backend
