// Launches contractions of one matrix whose sides are copied, one or both, and those along the sum.
#include <algorithm>
#include <new>
#include <optional>

#include "backends/cpu/contract.hpp"
#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/packing/dots.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {
namespace {

constexpr int64_t kShortestDot = 32;  // indices of the sequential axis from which on lanes may run along it
// Vectors of sums of one row that are complete before its epilogue; across, so that what is read is long
// runs.
constexpr int64_t kVectorsOfDots = 64, kVectorsAcross = 256;
constexpr int64_t kMuchToPack = 96 << 10;  // bytes of a packed side from which on threads share the packing
constexpr int64_t kMostPacked = int64_t{64} << 20;  // bytes of the right side that are packed at once

/// Returns the indices of the sequential axis in each of the equal parts that are no longer than `most`.
int64_t part_of(int64_t steps, int64_t most) {
  most = std::max<int64_t>(64, most / 64 * 64);
  return steps <= most ? most : round_up(divide_up(steps, divide_up(steps, most)), 64);
}

/// Returns the length of equal parts of `n`, a multiple of `unit`: none is longer than `most`, and there are
/// as many for each of the threads.
int64_t equal_parts(int64_t n, int64_t most, int64_t unit, int64_t threads) {
  return round_up(divide_up(n, round_up(divide_up(n, most), threads)), unit);
}

}  // namespace

void Contraction::one_matrix(const Launch& l, uint64_t* args) const {
  const ContractionSides s = sides(l, args);
  if (takes_dots(s)) return dots(l, s, args);
  if (windows_stay(l, s)) return windows_in_place(l, s, args);
  if (s.rows <= 4 * form_.rows || left_stays_near(l, s))
    return l.packed ? few_rows_by_packed(l, s, args) : few_rows(l, s, args);
  many_rows(l, s, args);
}

/// True for a few rows of integers that are multiplied by a right side as it lies: every order of a sum gives
/// the same bits.
bool Contraction::takes_dots(const ContractionSides& s) const {
  const bool integers = form_.lane == ContractionLane::pairs || form_.lane == ContractionLane::quads;
  const DType left = form_.left.from, right = form_.right.from;
  if (!integers || s.steps < kShortestDot) return false;
  if (s.right_step == static_cast<int64_t>(size_of(right)))
    return s.rows <= (form_.rows > 1 ? DottedRows::most(left, right, wide()) : 1);
  return s.rows == 1 && s.right_column == static_cast<int64_t>(size_of(right)) &&
         DottedRows::goes_across(left, right, wide());
}

/// Multiplies a few rows by the right side as it lies; the generated code does the epilogue of what it finds
/// complete.
void Contraction::dots(const Launch& l, const ContractionSides& s, const uint64_t* args) const {
  const DottedRows rows({s.left, s.left_row, s.left_step, form_.left.from}, s.rows, s.steps, form_.right.from,
                        wide());
  const bool across = s.right_step != static_cast<int64_t>(size_of(form_.right.from));
  // Of several rows, each launch has one tile, whose rows lie one after the other.
  const int64_t vectors = s.rows > 1 ? form_.vectors
                          : across   ? kVectorsAcross
                                     : kVectorsOfDots,
                width = vectors / form_.vectors * form_.vectors * form_.lanes;
  const int64_t grain = columns_each(l, s);
  l.box.each_piece(args, divide_up(s.columns, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const Scratch sums((s.rows * width + DottedRows::kAcross) * element_);
    LaunchWords one(l.box.layout().words());
    ContractionPlan plan;
    plan.tiles = sums.data();
    plan.flags = ContractionPlan::kResume;
    const int64_t end = std::min(s.columns, (piece + 1) * grain);
    for (int64_t begin = piece * grain; begin < end; begin += width) {
      const int64_t columns = std::min(width, end - begin);
      const PackSource right{s.right + begin * s.right_column, s.right_step, s.right_column,
                             form_.right.from};
      auto* const to = reinterpret_cast<int32_t*>(sums.data());
      if (across) rows.multiply_across(right, columns, to);
      else rows.multiply(right, columns, to, round_up(columns, form_.lanes));
      std::copy_n(mine, one.size(), one.data());
      l.box.restrict(one.data(), vector_axis_, begin, begin + columns);
      launch(l, plan, one.data());
    }
  });
}

/// Returns the bytes of the right side that are copied at a time when a block of it is used once.
int64_t Contraction::near_bytes(bool far) const {
  if (form_.tiles) return static_cast<int64_t>(caches().l1d / 3 * 2);
  return static_cast<int64_t>(form_.rows > 1 ? caches().l2 / 4 : far ? caches().l2 / 16 : caches().l1d / 2);
}

/// True if all rows of the left side stay in the second-level cache while the right side passes, of which
/// there is enough for all threads.
bool Contraction::left_stays_near(const Launch& l, const ContractionSides& s) const {
  const int64_t width = form_.vectors * form_.lanes,
                part = form_.tiles
                           ? s.steps
                           : std::min(s.steps, near_bytes(false) * packer_.in_lane() / (width * element_));
  return s.rows * packer_.lane_steps(part) * element_ <= static_cast<int64_t>(caches().l2 / 2) &&
         s.columns >= 4 * l.threads * width;
}

/// Returns how many columns each thread takes.
int64_t Contraction::columns_each(const Launch& l, const ContractionSides& s) const {
  return round_up(divide_up(s.columns, l.threads), form_.lanes);
}

/// Packs all of the left side, on all threads if there is much of it.
void Contraction::pack_left(const Launch& l, const ContractionSides& s, char* to, int64_t pitch,
                            const uint64_t* args) const {
  const int threads = s.rows * pitch < kMuchToPack ? 1 : l.threads;
  const int64_t grain = round_up(divide_up(s.rows, threads), form_.rows);
  l.box.each_piece(args, divide_up(s.rows, grain), threads, [&](uint64_t*, int64_t piece) {
    const int64_t row = piece * grain;
    packer_.pack_left(s, row, std::min(grain, s.rows - row), 0, s.steps, to + row * pitch, pitch);
  });
}

/// Multiplies so few rows that the right side is read once or little more: a block of it is copied to a near
/// cache, then multiplied at once.
void Contraction::few_rows(const Launch& l, const ContractionSides& s, const uint64_t* args) const {
  const bool left_copied = !packer_.left_in_place(s), right_copied = copies_right(s);
  const int64_t pitch = round_up(packer_.lane_steps(s.steps) * element_, 64);
  const Scratch left(left_copied ? packer_.left_bytes(s.rows, pitch) : 0);
  if (left_copied) pack_left(l, s, left.data(), pitch, args);
  // A single row from far memory takes longer runs of fewer columns.
  const bool far = s.steps * s.columns * element_ > far_bytes();
  const int64_t width = (form_.rows > 1 ? form_.vectors : far ? 2 : 4) * form_.lanes;
  const int64_t part = part_of(s.steps, near_bytes(far) * packer_.in_lane() / (width * element_));
  const int64_t grain = columns_each(l, s);
  l.box.each_piece(args, divide_up(s.columns, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const int64_t begin = piece * grain, end = std::min(s.columns, begin + grain);
    ContractionPlan plan;
    plan.left = left_copied ? left.data() : s.left;
    plan.left_row = left_copied ? pitch : s.left_row;
    plan.left_tile_row = 64;
    plan.left_tile_step = 64 * form_.rows;
    if (!right_copied) {
      plan.right = s.right + begin * element_;
      plan.right_step = s.right_step;
      plan.right_chunk = form_.vectors * form_.lanes * element_;
      plan.steps = packer_.lane_steps(s.steps);
      l.box.restrict(mine, vector_axis_, begin, end);
      return launch(l, plan, mine);
    }
    const Scratch panel((packer_.lane_steps(part) + packer_.starts()) * width * element_),
        tiles(s.steps > part ? s.rows * width * element_ : 0);
    LaunchWords one(l.box.layout().words());
    plan.right = panel.data();
    plan.right_step = width * element_;
    plan.tiles = tiles.data();
    for (int64_t column = begin; column < end; column += width) {
      const int64_t columns = std::min(width, end - column);
      std::copy_n(mine, one.size(), one.data());
      l.box.restrict(one.data(), vector_axis_, column, column + columns);
      int64_t first = 0;
      do {
        const int64_t steps = std::min(part, s.steps - first);
        packer_.pack_right(s, first, steps, column, columns, panel.data(), width);
        ContractionPlan now = plan;
        now.left += packer_.lane_steps(first) * element_ * (form_.tiles ? form_.rows : 1);
        now.steps = packer_.lane_steps(steps);
        now.flags = ContractionPlan::flags_of(first, steps, s.steps);
        launch(l, now, one.data());
        first += part;
      } while (first < s.steps);
    }
  });
}

/// Copies the right side for all threads, then multiplies blocks of rows by it.
void Contraction::many_rows(const Launch& l, const ContractionSides& s, const uint64_t* args) const {
  const bool left_copied = !packer_.left_in_place(s), right_copied = !l.packed && copies_right(s);
  const PackedRight r = packed_right(s);
  const int64_t part = r.part, parts = r.parts, width = r.width, chunk_bytes = r.chunk_bytes,
                lane_part = packer_.lane_steps(part);
  // A left side that is read as it lies passes often; then what is packed stays in the second-level cache.
  const int64_t most = left_copied ? kMostPacked : static_cast<int64_t>(caches().l2 / 4) * l.threads;
  int64_t panel = equal_parts(
      s.columns, std::max<int64_t>(1, most / std::max<int64_t>(chunk_bytes, 1)) * width, width, 1);
  const int64_t pitch = round_up(lane_part * element_, 64);
  // These rows' left side stays in the second-level cache while all columns pass.
  const int64_t near_rows =
      static_cast<int64_t>(caches().l2 / 3) / std::max<int64_t>(pitch, 1) / form_.rows * form_.rows;
  const int64_t block = equal_parts(s.rows, std::max<int64_t>(form_.rows, near_rows), form_.rows, l.threads);
  const int64_t blocks = divide_up(s.rows, block);
  int64_t columns = 0;
  for (int64_t begin = 0; begin < s.columns; begin += columns) {
    columns = std::min(panel, s.columns - begin);
    const int64_t chunks = divide_up(columns, width);
    // When there are fewer blocks of rows than threads, columns are shared out too.
    const int64_t strips =
        blocks >= 2 * l.threads || blocks % l.threads == 0 ? 1 : std::min<int64_t>(chunks, l.threads);
    const int64_t strip = divide_up(chunks, strips);
    const int64_t task_bytes =
        parts > 1 ? block * round_up(std::min(columns, strip * width), form_.lanes) * element_ : 0;
    // Where memory is short, less is packed at once, down to one chunk.
    std::optional<Scratch> right_memory, tile_memory;
    const auto has_memory = [&](std::optional<Scratch>& scratch, int64_t bytes) {
      if (panel > width) return scratch.emplace(bytes, std::nothrow).data() != nullptr;
      return scratch.emplace(bytes).data() != nullptr;
    };
    if (!has_memory(right_memory, right_copied ? chunks * chunk_bytes : 0) ||
        !has_memory(tile_memory, blocks * strips * task_bytes)) {
      panel = round_up(panel / 2, width);
      columns = 0;
      continue;
    }
    char *const right = right_memory->data(), *const tiles = tile_memory->data();
    for (int64_t first = 0; first == 0 || first < s.steps; first += part) {
      const int64_t steps = std::min(part, s.steps - first);
      if (right_copied) {
        const int64_t grain = divide_up(chunks, l.threads);
        l.box.each_piece(args, divide_up(chunks, grain), l.threads, [&](uint64_t*, int64_t p) {
          for (int64_t c = p * grain; c < std::min(chunks, (p + 1) * grain); ++c)
            packer_.pack_right(s, first, steps, begin + c * width, std::min(width, columns - c * width),
                               right + c * chunk_bytes, width);
        });
      }
      l.box.each_piece(args, blocks * strips, l.threads, [&](uint64_t* mine, int64_t task) {
        const int64_t row = task / strips * block, chunk = task % strips * strip;
        const int64_t rows = std::min(block, s.rows - row);
        if (chunk >= chunks) return;
        const Scratch left(left_copied ? packer_.left_bytes(rows, pitch) : 0);
        ContractionPlan plan;
        plan.left = s.left + row * s.left_row + first * s.left_step;
        plan.left_row = s.left_row;
        plan.left_tile_row = 64;
        plan.left_tile_step = 64 * form_.rows;
        if (left_copied) {
          packer_.pack_left(s, row, rows, first, steps, left.data(), pitch);
          plan.left = left.data();
          plan.left_row = pitch;
        }
        const bool packed = right_copied || l.packed;
        plan.right = l.packed
                         ? l.packed + first / part * r.part_bytes() + (begin / width + chunk) * chunk_bytes
                     : right_copied ? right + chunk * chunk_bytes
                                    : s.right + first * s.right_step + (begin + chunk * width) * element_;
        plan.right_step = packed ? width * element_ : s.right_step;
        plan.right_chunk = packed ? chunk_bytes : width * element_;
        plan.steps = packer_.lane_steps(steps);
        plan.tiles = tiles + task * task_bytes;
        plan.flags = ContractionPlan::flags_of(first, steps, s.steps);
        l.box.restrict(mine, form_.row_axis, row, row + rows);
        l.box.restrict(mine, vector_axis_, begin + chunk * width,
                       begin + std::min(columns, (chunk + strip) * width));
        launch(l, plan, mine);
      });
    }
  }
}

}  // namespace lazy::cpu_backend
