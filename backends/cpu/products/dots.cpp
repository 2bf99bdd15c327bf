// Multiplies a few rows of integers with lanes along the sum.
#include <algorithm>

#include "backends/cpu/packing/dots.hpp"
#include "backends/cpu/products/strategy.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {
namespace {
// Vectors of sums of one row that are complete before its epilogue; across, so that what is read is long
// runs.
constexpr int64_t kVectorsOfDots = 64, kVectorsAcross = 256;
}  // namespace

/// Multiplies a few rows by the right side as it lies; the generated code does the epilogue of what it finds
/// complete.
void dots(const Product& p, const ProductLaunch& l, const ContractionSides& s, const uint64_t* args) {
  const DottedRows rows({s.left, s.left_row, s.left_step, p.form.left.from}, s.rows, s.steps,
                        p.form.right.from, p.wide());
  const bool across = s.right_step != static_cast<int64_t>(size_of(p.form.right.from));
  // Of several rows, each launch has one tile, whose rows lie one after the other.
  const int64_t vectors = s.rows > 1 ? p.form.vectors
                          : across   ? kVectorsAcross
                                     : kVectorsOfDots,
                width = vectors / p.form.vectors * p.form.vectors * p.form.lanes;
  const int64_t grain = p.columns_each(l, s);
  l.box.each_piece(args, divide_up(s.columns, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const int64_t together = std::min<int64_t>(s.rows, p.form.rows);
    const Scratch sums((together * width + DottedRows::kAcross) * p.element);
    LaunchWords one(l.box.layout().words());
    ContractionPlan plan;
    plan.tiles = sums.data();
    plan.flags = ContractionPlan::kResume;
    const int64_t end = std::min(s.columns, (piece + 1) * grain);
    for (int64_t begin = piece * grain; begin < end; begin += width) {
      const int64_t columns = std::min(width, end - begin);
      const PackSource right{s.right + begin * s.right_column, s.right_step, s.right_column,
                             p.form.right.from};
      auto* const to = reinterpret_cast<int32_t*>(sums.data());
      for (int64_t row = 0; row < s.rows; row += together) {
        const ContractionBlock block{row, std::min(together, s.rows - row), begin, columns};
        if (across) rows.multiply_across(right, columns, to);
        else rows.multiply(row, row + block.rows, right, columns, to, round_up(columns, p.form.lanes));
        std::copy_n(mine, one.size(), one.data());
        p.restrict(l, block, one.data());
        p.launch(l, plan, one.data());
      }
    }
  });
}

}  // namespace lazy::cpu_backend
