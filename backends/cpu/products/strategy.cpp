#include "backends/cpu/products/strategy.hpp"

#include <algorithm>

#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/packing/dots.hpp"

namespace lazy::cpu_backend {
namespace {

constexpr int64_t kPage = 4096;       // bytes
constexpr int64_t kShortestDot = 32;  // indices of the sequential axis from which on lanes may run along it

// Returns the bytes up to which a right side isn't worth copying, as the second-level cache holds it or
// nearly.
int64_t small_right() { return static_cast<int64_t>(caches().l2 / 2 * 3); }
// Returns the bytes beyond which a single row takes the right side in the order in which it lies.
int64_t row_order_bytes() { return static_cast<int64_t>(caches().l2 / 4 * 3); }

/// True if every tile of rows would read all of the right side from beyond the second-level cache, but not
/// if it is passed in parts of near_steps().
bool is_long_and_narrow(const Product& p, const ContractionSides& s) {
  return p.form.rows > 1 && s.rows > p.form.rows &&
         p.right_bytes(s) > static_cast<int64_t>(caches().l2 / 2) && p.near_steps(s) > 0;
}

/// True for a few rows of integers that are multiplied by a right side as it lies: every order of a sum gives
/// the same bits.
bool takes_dots(const Product& p, const ContractionSides& s) {
  const ContractionForm& f = p.form;
  const bool integers = f.lane == ContractionLane::pairs || f.lane == ContractionLane::quads;
  const DType left = f.left.from, right = f.right.from;
  if (!integers || s.steps < kShortestDot) return false;
  if (s.right_step == static_cast<int64_t>(size_of(right)))
    return s.rows <=
           (f.rows > 1 ? DottedRows::most(left, right, p.wide(), p.right_bytes(s) > far_bytes()) : 1);
  return s.rows == 1 && s.right_column == static_cast<int64_t>(size_of(right)) &&
         DottedRows::goes_across(left, right, p.wide());
}

/// True for one row by 16-bit floats whose columns lie side by side: copying them for a single use would take
/// longer than the product.
bool goes_across(const Product& p, const ContractionSides& s) {
  const ContractionForm& f = p.form;
  return f.rows == 1 && s.rows == 1 && f.lane == ContractionLane::f32 && is_half(f.right.from) &&
         s.right_column == static_cast<int64_t>(size_of(f.right.from)) && !s.right_places;
}

/// True if all rows of the left side stay in the second-level cache while the right side passes, of which
/// there is enough for all threads.
bool left_stays_near(const Product& p, const ProductLaunch& l, const ContractionSides& s) {
  const int64_t width = p.form.vectors * p.form.lanes,
                part =
                    p.form.tiles
                        ? s.steps
                        : std::min(s.steps, p.near_bytes(false) * p.packer.in_lane() / (width * p.element));
  return s.rows * p.packer.lane_steps(part) * p.element <= static_cast<int64_t>(caches().l2 / 2) &&
         s.columns >= 4 * l.threads * width;
}

/// Returns the strategy for one matrix whose sides are not both read as they lie by the generated code.
Strategy of_one_matrix(const Product& p, const ProductLaunch& l, const ContractionSides& s) {
  if (takes_dots(p, s)) return Strategy::dots;
  if (goes_across(p, s)) return Strategy::row_across;
  if (windows_stay(p, l, s)) return Strategy::windows;
  if (s.rows <= 4 * p.form.rows || left_stays_near(p, l, s))
    return l.packed ? Strategy::few_rows_by_packed : Strategy::few_rows;
  return Strategy::many_rows;
}

}  // namespace

bool worth_keeping(const Product& p, const ContractionSides& s) {
  return p.form.rows > 1 && s.rows > 1 && p.right_bytes(s) > small_right();
}

Strategy choose(const Product& p, const ProductLaunch& l, const ContractionSides& s, int64_t matrices) {
  if (matrices == 0 || s.rows == 0 || s.columns == 0) return Strategy::nothing;
  if (l.packed) return of_one_matrix(p, l, s);
  const ContractionForm& f = p.form;
  const bool in_order = p.packer.left_in_place(s) && p.packer.right_in_place(s);
  if (in_order && f.rows == 1 && s.rows == 1 && matrices == 1 && s.steps > kFarSteps &&
      !f.one_tile(s.columns) &&  // which goes through it in order anyway
      p.right_bytes(s) > row_order_bytes())
    return Strategy::row_in_order;
  const bool page_apart = s.right_step >= kPage;  // each step would look up another page
  const bool unpacked =
      in_order && (s.rows < Product::kRowsWorthPacking || (!page_apart && p.right_bytes(s) <= small_right()));
  if (!unpacked) return of_one_matrix(p, l, s);
  return is_long_and_narrow(p, s) ? Strategy::in_parts : Strategy::in_place;
}

}  // namespace lazy::cpu_backend
