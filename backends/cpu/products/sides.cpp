#include "backends/cpu/products/sides.hpp"

#include <algorithm>
#include <cstring>

#include "backends/cpu/threads/parallel.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {

bool SidePacker::left_in_place(const ContractionSides& s) const {
  return !s.left_places && form_.left.plain(form_.lane) && (s.left_step == element_ || s.steps <= 1);
}
bool SidePacker::right_in_place(const ContractionSides& s) const {
  return !s.right_places && form_.right.plain(form_.lane) && s.right_column == element_ &&
         (form_.masks || s.columns % form_.lanes == 0);
}

void SidePacker::pack_left(const ContractionSides& s, int64_t row, int64_t rows, int64_t step, int64_t steps,
                           char* to, int64_t pitch) const {
  if (const FoldedPlaces* p = s.left_places)
    return pack_folded(s.left, form_.left.from, form_.lane, p->row.data() + row, rows,
                       p->column.data() + step, steps, to, pitch);
  const PackSource from{s.left + row * s.left_row + step * s.left_step, s.left_row, s.left_step,
                        form_.left.from};
  if (form_.tiles) return pack_left_tiles(from, rows, steps, to, pitch);
  if (form_.lane == ContractionLane::pairs || form_.lane == ContractionLane::halves)
    pack_words(from, rows, steps, to, pitch);
  else if (form_.lane == ContractionLane::quads) pack_bytes(from, true, rows, steps, to, pitch);
  else pack(from, form_.lane, rows, steps, to, pitch);
}

/// Packs the left side as tile registers take it: of each block of rows, 64 bytes of all rows, then the
/// next 64.
void SidePacker::pack_left_tiles(const PackSource& s, int64_t rows, int64_t steps, char* to,
                                 int64_t pitch) const {
  constexpr int64_t chunk = 64;
  const auto size = static_cast<int64_t>(size_of(s.type));
  const bool in_order = s.column == size;
  const Scratch one(in_order ? 0 : form_.rows * pitch);
  for (int64_t first = 0; first < rows; first += form_.rows, to += form_.rows * pitch) {
    const int64_t n = std::min<int64_t>(form_.rows, rows - first);
    PackSource block{s.data + first * s.row, s.row, s.column, s.type};
    if (!in_order) {
      if (form_.lane == ContractionLane::halves) pack_words(block, n, steps, one.data(), pitch);
      else pack_bytes(block, false, n, steps, one.data(), pitch);
      block = {one.data(), pitch, size, s.type};
    }
    for (int64_t i = 0; i < n; ++i) {
      const char* row = block.data + i * block.row;
      char* out = to + i * chunk;
      int64_t left = steps * size;
      for (; left >= chunk; left -= chunk, row += chunk, out += form_.rows * chunk)
        std::memcpy(out, row, chunk);
      if (left == 0) continue;
      std::memset(out, 0, chunk);
      std::memcpy(out, row, static_cast<size_t>(left));
    }
  }
}

void SidePacker::pack_right(const ContractionSides& s, int64_t step, int64_t steps, int64_t column,
                            int64_t columns, char* to, int64_t width) const {
  const PackSource from{s.right + step * s.right_step + column * s.right_column, s.right_step, s.right_column,
                        form_.right.from};
  const int64_t pitch = width * element_;
  if (const FoldedPlaces* p = s.right_places)
    pack_folded(s.right, form_.right.from, form_.lane, p->row.data() + step, steps, p->column.data() + column,
                columns, to, pitch);
  else if (form_.lane == ContractionLane::pairs || form_.lane == ContractionLane::halves)
    pack_pairs(from, steps, columns, to, pitch);
  else if (form_.lane == ContractionLane::quads) pack_quads(from, steps, columns, to, pitch);
  else pack(from, form_.lane, steps, columns, to, pitch);
  const int64_t used = divide_up(steps, in_lane());
  std::memset(to + used * pitch, 0, static_cast<size_t>((lane_steps(steps) - used) * pitch));
  if (columns < width)
    for (int64_t i = 0; i < used; ++i)
      std::memset(to + i * pitch + columns * element_, 0, static_cast<size_t>((width - columns) * element_));
  if (!starts() || step > 0) return;
  auto* start = reinterpret_cast<int32_t*>(to + lane_steps(steps) * pitch);
  std::fill_n(start, width, 0);
  if (form_.left.from == DType::int8) sums_of_raised(from, s.steps, columns, start);
}

}  // namespace lazy::cpu_backend
