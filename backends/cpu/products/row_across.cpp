// Multiplies one row by a right side of 16-bit floats as it lies.
#include "backends/cpu/packing/row_across.hpp"

#include <algorithm>

#include "backends/cpu/products/strategy.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {
namespace {
// Columns whose sums are complete before their epilogue: as many as the first-level cache holds beside what
// is read.
constexpr int64_t kSumsAtOnce = 4096;
}  // namespace

/// Multiplies the row by all of a block of columns; the generated code does the epilogue of what it finds
/// complete.
void row_across(const Product& p, const ProductLaunch& l, const ContractionSides& s, const uint64_t* args) {
  const int64_t pitch = round_up(s.steps * p.element, 64);
  const Scratch row(pitch);
  p.packer.pack_left(s, 0, 1, 0, s.steps, row.data(), pitch);
  const int64_t tile = p.form.vectors * p.form.lanes, width = std::max(tile, kSumsAtOnce / tile * tile),
                grain = p.columns_each(l, s);
  l.box.each_piece(args, divide_up(s.columns, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const int64_t end = std::min(s.columns, (piece + 1) * grain);
    const Scratch sums(round_up(std::min(width, grain), kColumnsAcross) * p.element);
    LaunchWords one(l.box.layout().words());
    ContractionPlan plan;
    plan.tiles = sums.data();
    plan.flags = ContractionPlan::kResume;
    for (int64_t begin = piece * grain; begin < end; begin += width) {
      const int64_t columns = std::min(width, end - begin);
      const PackSource right{s.right + begin * s.right_column, s.right_step, s.right_column,
                             p.form.right.from};
      multiply_row_across(reinterpret_cast<const float*>(row.data()), s.steps, right, columns, p.wide(),
                          reinterpret_cast<float*>(sums.data()));
      std::copy_n(mine, one.size(), one.data());
      l.box.restrict(one.data(), p.vector_axis, begin, begin + columns);
      p.launch(l, plan, one.data());
    }
  });
}

}  // namespace lazy::cpu_backend
