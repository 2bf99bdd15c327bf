// Multiplies many rows of one matrix: panels of the right side are copied for all threads, then blocks of
// rows are multiplied by them.
#include <algorithm>
#include <new>
#include <optional>

#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/products/strategy.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {
namespace {

constexpr int64_t kMostPacked = int64_t{64} << 20;  // bytes of the right side that are packed at once

/// Returns the length of equal parts of `n`, a multiple of `unit`: none is longer than `most`, and there are
/// as many for each of the threads.
int64_t equal_parts(int64_t n, int64_t most, int64_t unit, int64_t threads) {
  return round_up(divide_up(n, round_up(divide_up(n, most), threads)), unit);
}

/// Describes columns of the right side that are packed at once, and the tasks that multiply by them: strips
/// of columns times blocks of rows.
struct Panel {
  int64_t begin, columns;
  int64_t chunks;         // of packed columns
  int64_t strips, strip;  // strips; chunks of one
  int64_t task_bytes;     // of sums that wait in memory between parts of the sequential axis
  char *right = nullptr, *tiles = nullptr;
};

class ManyRows {
 public:
  ManyRows(const Product& p, const ProductLaunch& l, const ContractionSides& s, const uint64_t* args)
      : p_(p),
        l_(l),
        s_(s),
        args_(args),
        left_copied_(!p.packer.left_in_place(s)),
        right_copied_(!l.packed && p.copies_right(s)),
        right_(p.packed_right(s)),
        pitch_(round_up(p.packer.lane_steps(right_.part) * p.element, 64)) {
    // These rows' left side stays in the second-level cache while all columns pass.
    const int64_t near_rows =
        static_cast<int64_t>(caches().l2 / 3) / std::max<int64_t>(pitch_, 1) / p.form.rows * p.form.rows;
    block_ = equal_parts(s.rows, std::max<int64_t>(p.form.rows, near_rows), p.form.rows, l.threads);
    blocks_ = divide_up(s.rows, block_);
  }

  void run() const {
    int64_t width = widest();
    for (int64_t begin = 0; begin < s_.columns;) {
      Panel panel = panel_of(begin, std::min(width, s_.columns - begin));
      // Where memory is short, less is packed at once, down to one chunk.
      std::optional<Scratch> right, tiles;
      const auto has_memory = [&](std::optional<Scratch>& scratch, int64_t bytes) {
        if (width > right_.width) return scratch.emplace(bytes, std::nothrow).data() != nullptr;
        return scratch.emplace(bytes).data() != nullptr;
      };
      if (!has_memory(right, right_copied_ ? panel.chunks * right_.chunk_bytes : 0) ||
          !has_memory(tiles, blocks_ * panel.strips * panel.task_bytes)) {
        width = round_up(width / 2, right_.width);
        continue;
      }
      panel.right = right->data(), panel.tiles = tiles->data();
      multiply(panel);
      begin += panel.columns;
    }
  }

 private:
  /// Returns the columns of the widest panel. A left side that is read as it lies passes often; then what is
  /// packed stays in the second-level cache.
  int64_t widest() const {
    const int64_t most = left_copied_ ? kMostPacked : static_cast<int64_t>(caches().l2 / 4) * l_.threads;
    const int64_t chunks = std::max<int64_t>(1, most / std::max<int64_t>(right_.chunk_bytes, 1));
    return equal_parts(s_.columns, chunks * right_.width, right_.width, 1);
  }

  /// When there are fewer blocks of rows than threads, columns are shared out too.
  Panel panel_of(int64_t begin, int64_t columns) const {
    const int64_t chunks = divide_up(columns, right_.width);
    const int64_t strips =
        blocks_ >= 2 * l_.threads || blocks_ % l_.threads == 0 ? 1 : std::min<int64_t>(chunks, l_.threads);
    const int64_t strip = divide_up(chunks, strips);
    const int64_t row_sums = round_up(std::min(columns, strip * right_.width), p_.form.lanes);
    return {begin, columns, chunks, strips, strip, right_.parts > 1 ? block_ * row_sums * p_.element : 0};
  }

  void multiply(const Panel& panel) const {
    for (int64_t first = 0; first == 0 || first < s_.steps; first += right_.part) {
      const int64_t steps = std::min(right_.part, s_.steps - first);
      if (right_copied_) pack(panel, first, steps);
      l_.box.each_piece(args_, blocks_ * panel.strips, l_.threads,
                        [&](uint64_t* mine, int64_t task) { run_task(panel, first, steps, task, mine); });
    }
  }

  void pack(const Panel& panel, int64_t first, int64_t steps) const {
    const int64_t grain = divide_up(panel.chunks, l_.threads), width = right_.width;
    l_.box.each_piece(args_, divide_up(panel.chunks, grain), l_.threads, [&](uint64_t*, int64_t piece) {
      for (int64_t c = piece * grain; c < std::min(panel.chunks, (piece + 1) * grain); ++c)
        p_.packer.pack_right(s_, first, steps, panel.begin + c * width,
                             std::min(width, panel.columns - c * width), panel.right + c * right_.chunk_bytes,
                             width);
    });
  }

  /// Says where the right side is from a chunk of the panel on.
  void place_right(const Panel& panel, int64_t first, int64_t chunk, ContractionPlan& plan) const {
    const int64_t width = right_.width;
    if (l_.packed)
      plan.right = l_.packed + first / right_.part * right_.part_bytes() +
                   (panel.begin / width + chunk) * right_.chunk_bytes;
    else if (right_copied_) plan.right = panel.right + chunk * right_.chunk_bytes;
    else plan.right = s_.right + first * s_.right_step + (panel.begin + chunk * width) * p_.element;
    const bool packed = right_copied_ || l_.packed;
    plan.right_step = packed ? width * p_.element : s_.right_step;
    plan.right_chunk = packed ? right_.chunk_bytes : width * p_.element;
  }

  /// Multiplies a block of rows by a strip of the panel.
  void run_task(const Panel& panel, int64_t first, int64_t steps, int64_t task, uint64_t* mine) const {
    const int64_t row = task / panel.strips * block_, chunk = task % panel.strips * panel.strip;
    const int64_t rows = std::min(block_, s_.rows - row), width = right_.width;
    if (chunk >= panel.chunks) return;
    const Scratch left(left_copied_ ? p_.packer.left_bytes(rows, pitch_) : 0);
    ContractionPlan plan;
    plan.left = s_.left + row * s_.left_row + first * s_.left_step;
    plan.left_row = s_.left_row;
    plan.left_tile_row = 64;
    plan.left_tile_step = 64 * p_.form.rows;
    if (left_copied_) {
      p_.packer.pack_left(s_, row, rows, first, steps, left.data(), pitch_);
      plan.left = left.data();
      plan.left_row = pitch_;
    }
    place_right(panel, first, chunk, plan);
    plan.steps = p_.packer.lane_steps(steps);
    plan.tiles = panel.tiles + task * panel.task_bytes;
    plan.flags = ContractionPlan::flags_of(first, steps, s_.steps);
    p_.restrict(l_,
                {row, rows, panel.begin + chunk * width,
                 std::min(panel.columns, (chunk + panel.strip) * width) - chunk * width},
                mine);
    p_.launch(l_, plan, mine);
  }

  const Product& p_;
  const ProductLaunch& l_;
  const ContractionSides& s_;
  const uint64_t* args_;
  bool left_copied_, right_copied_;
  PackedRight right_;
  int64_t pitch_;           // bytes of a packed row of the left side
  int64_t block_, blocks_;  // rows of a task; blocks of rows
};

}  // namespace

void many_rows(const Product& p, const ProductLaunch& l, const ContractionSides& s, const uint64_t* args) {
  ManyRows(p, l, s, args).run();
}

}  // namespace lazy::cpu_backend
