#include "backends/cpu/products/grid.hpp"

#include <algorithm>

#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {
namespace {

// Halves of cycles, two instructions of a kind each cycle.
constexpr int64_t kLatency = 8;    // of a multiply-add
constexpr int64_t kFarBytes = 16;  // from beyond the second-level cache, in the time of 3 of them

/// Returns the time of a step of the sequential axis for a tile: it multiplies, waits or loads.
int64_t tile_time(int64_t rows, int64_t vectors) {
  return std::max({rows * vectors, kLatency, rows + vectors});
}

/// Returns the time of a step for the rows of one column of tiles.
int64_t column_time(const ContractionForm& f, int64_t rows, int64_t vectors) {
  int64_t time = rows / f.rows * tile_time(f.rows, vectors);
  if (f.tiles) return time + (rows % f.rows != 0) * tile_time(f.rows, vectors);
  for (int64_t height = f.rows / 2, left = rows % f.rows; left > 0; height = std::max<int64_t>(1, height / 2))
    for (; left >= height; left -= height) time += tile_time(height, vectors);
  return time;
}

int64_t piece_time(const ContractionForm& f, int64_t rows, int64_t columns, bool far) {
  const int64_t vectors = divide_up(columns, f.lanes), rest = vectors % f.vectors;
  const int64_t time =
      vectors / f.vectors * column_time(f, rows, f.vectors) + (rest > 0 ? column_time(f, rows, rest) : 0);
  return far ? std::max(time, columns * bytes_of(f.lane) * 3 / kFarBytes) : time;
}

}  // namespace

ContractionBlock ContractionGrid::block(int64_t piece) const {
  const int64_t row = piece / across * rows, column = piece % across * columns;
  return {row, std::min(rows, all_rows - row), column, std::min(columns, all_columns - column)};
}

ContractionGrid grid_of(const ContractionForm& f, int64_t rows, int64_t columns, int64_t threads, bool far) {
  ContractionGrid best{rows, columns, rows, columns, 1, 1};
  int64_t least = 0;
  for (int64_t down = 1; down <= threads; ++down) {
    const int64_t each_row = std::min(rows, round_up(divide_up(rows, down), f.rows)),
                  each_column = std::min(
                      columns, round_up(divide_up(columns, std::max<int64_t>(1, threads / down)), f.lanes));
    const int64_t time = piece_time(f, each_row, each_column, far);
    if (down > 1 && (f.row_axis < 0 || time >= least)) continue;
    const int64_t across = divide_up(columns, each_column);
    best = {rows, columns, each_row, each_column, across, across * divide_up(rows, each_row)};
    least = time;
  }
  return best;
}

}  // namespace lazy::cpu_backend
