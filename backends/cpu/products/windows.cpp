// Multiplies rows that are windows of an image where they lie in it. A run of windows is a matrix whose rows
// overlap, if a run of a window's elements is taken at a time; between such segments sums wait in memory.
#include <algorithm>

#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/products/strategy.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {
namespace {

// Sums pass through memory once for each segment, and shorter runs of rows leave tiles of few rows.
constexpr int64_t kShortestSegment = 64, kFewestRows = 12;
constexpr int64_t kMostRows = 64;  // in a run, of whose sums a near cache holds some columns

/// Returns the runs in parts of at most kMostRows rows, which tiles of so many rows fill.
std::vector<PlaceRun> cut(const std::vector<PlaceRun>& runs, int64_t tile) {
  std::vector<PlaceRun> all;
  for (const PlaceRun& r : runs) {
    const int64_t part = round_up(divide_up(r.count, divide_up(r.count, kMostRows)), tile);
    for (int64_t i = 0; i < r.count; i += part)
      all.push_back({r.first + i, std::min(part, r.count - i), r.apart});
  }
  return all;
}

/// Returns the last of the runs from `first` on that have no more than `most` rows together, at least one.
size_t end_of_block(const std::vector<PlaceRun>& runs, size_t first, size_t end, int64_t most) {
  int64_t rows = runs[first].count;
  size_t last = first + 1;
  while (last < end && rows + runs[last].count <= most) rows += runs[last++].count;
  return last;
}

}  // namespace

/// True if windows are read in place: the right side is too, and is near, and runs are long.
bool windows_stay(const Product& p, const ProductLaunch& l, const ContractionSides& s) {
  if (!s.left_places || p.form.rows == 1 || p.form.row_axis < 0 || !p.packer.right_in_place(s)) return false;
  const auto near = static_cast<int64_t>(caches().l2);
  const std::vector<PlaceRun> rows = runs_of(s.left_places->row), segments = runs_of(s.left_places->column);
  const auto short_of = [](const std::vector<PlaceRun>& all, int64_t n, int64_t least) {
    return n < least * static_cast<int64_t>(all.size());
  };
  if (divide_up(s.rows, kMostRows) < l.threads || short_of(rows, s.rows, kFewestRows) ||
      short_of(segments, s.steps, kShortestSegment))
    return false;
  return std::all_of(segments.begin(), segments.end(), [&](const PlaceRun& r) {
    return (r.apart == p.element || r.count == 1) && r.count * s.columns * p.element <= near / 2;
  });
}

/// Multiplies runs of windows segment by segment. Where the second-level cache does not hold the right side,
/// many runs take a segment of it before the next.
void windows(const Product& p, const ProductLaunch& l, const ContractionSides& s, const uint64_t* args) {
  const std::vector<PlaceRun> runs = cut(runs_of(s.left_places->row), p.form.rows),
                              segments = runs_of(s.left_places->column);
  const auto near = static_cast<int64_t>(caches().l2 / 4);
  const int64_t row_bytes = round_up(s.columns, p.form.lanes) * p.element;
  const int64_t most = p.right_bytes(s) <= near ? 1 : near / row_bytes;
  const auto all = static_cast<int64_t>(runs.size());
  const int64_t grain = divide_up(all, l.threads);
  l.box.each_piece(args, divide_up(all, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const auto begin = static_cast<size_t>(piece * grain),
               end = static_cast<size_t>(std::min(all, (piece + 1) * grain));
    LaunchWords one(l.box.layout().words());
    ContractionPlan plan;
    plan.right_step = s.right_step;
    plan.right_chunk = p.form.vectors * p.form.lanes * p.element;
    for (size_t block = begin, next = 0; block < end; block = next) {
      next = end_of_block(runs, block, end, most);
      const int64_t rows = runs[next - 1].first + runs[next - 1].count - runs[block].first;
      const Scratch sums(segments.size() > 1 ? rows * row_bytes : 0);
      for (const PlaceRun& segment : segments) {
        plan.right = s.right + segment.first * s.right_step;
        plan.steps = segment.count;
        plan.flags = ContractionPlan::flags_of(segment.first, segment.count, s.steps);
        for (size_t r = block; r < next; ++r) {
          const PlaceRun& run = runs[r];
          const auto row = static_cast<size_t>(run.first), step = static_cast<size_t>(segment.first);
          plan.left = s.left + s.left_places->row[row] + s.left_places->column[step];
          plan.left_row = run.apart;
          plan.tiles = sums.data() + (run.first - runs[block].first) * row_bytes;
          std::copy_n(mine, one.size(), one.data());
          l.box.restrict(one.data(), p.form.row_axis, run.first, run.first + run.count);
          p.launch(l, plan, one.data());
        }
      }
    }
  });
}

}  // namespace lazy::cpu_backend
