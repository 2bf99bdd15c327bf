#include "backends/cpu/contract.hpp"

#include <algorithm>
#include <cstring>

#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/packing/dots.hpp"
#include "backends/cpu/packing/pack.hpp"
#include "backends/cpu/threads/machine.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {
using jit::loop::ArgLayout;
namespace {

constexpr double kVectorsANanosecond = 3;  // vectors that a thread multiplies and adds in a nanosecond
// A right side that may be read in place is not worth copying for fewer rows than this.
constexpr int64_t kRowsWorthPacking = 96;
// Returns the bytes up to which a right side isn't worth copying, as the second-level cache holds it or
// nearly.
int64_t small_right() { return static_cast<int64_t>(caches().l2 / 2 * 3); }
// Returns the bytes beyond which a right side is read from memory, or mostly so.
int64_t far_bytes() { return static_cast<int64_t>(caches().l3 / 2); }
// Returns the bytes beyond which a single row takes the right side in the order in which it lies.
int64_t row_order_bytes() { return static_cast<int64_t>(caches().l2 / 4 * 3); }
constexpr int64_t kPage = 4096;                    // bytes
constexpr int64_t kFarSteps = 8, kNearSteps = 16;  // rows that are read at once; more where they are short
constexpr int64_t kShortestDot = 32;   // indices of the sequential axis from which on lanes may run along it
constexpr int64_t kFewestSteps = 256;  // indices of the sequential axis between which sums may wait in memory
constexpr int64_t kLongestPart = 1024;  // indices of the sequential axis in a part, when it is done in parts
constexpr int64_t kMostPacked = int64_t{64} << 20;  // bytes of the right side that are packed at once

/// Returns the indices of the sequential axis in each of the equal parts that are no longer than `most`.
int64_t part_of(int64_t steps, int64_t most) {
  most = std::max<int64_t>(64, most / 64 * 64);
  return steps <= most ? most : round_up(divide_up(steps, divide_up(steps, most)), 64);
}

/// Returns the flags of a launch of `steps` of `all` indices of the sequential axis, from `first` on.
int64_t flags_of_part(int64_t first, int64_t steps, int64_t all) {
  return (first > 0 ? ContractionPlan::kResume : 0) | (first + steps < all ? ContractionPlan::kSuspend : 0);
}

/// Returns the nanoseconds that a thread needs at least: few rows wait for the right side.
double shortest_time(double vectors, double right_bytes) {
  const double multiplying = vectors / kVectorsANanosecond;
  if (right_bytes < static_cast<double>(caches().l1d)) return multiplying;
  return std::max(multiplying, right_bytes / bandwidth(machine(), right_bytes));
}

}  // namespace

Contraction::Contraction(const jit::loop::LoopKernel& k, const ContractionForm& f)
    : form_(f), vector_axis_(k.rank - 1), sequential_(k.sequential), element_(bytes_of(f.lane)) {
  for (int a = 0; a < k.rank; ++a)
    if (a != vector_axis_ && a != sequential_ && a != f.row_axis) outer_.push_back(a);
}

Contraction::Sides Contraction::sides(const Launch& launch, const uint64_t* args) const {
  const Partition& p = launch.box;
  const auto at = [&](int operand) {
    return reinterpret_cast<const char*>(args[p.layout().pointer(operand)]);
  };
  const auto source = [](const Places* places, const char* at) {
    return places ? places->side.source(at) : at;
  };
  const int l = form_.left.operand, r = form_.right.operand, row = form_.row_axis;
  return {source(launch.left, at(l)),
          source(launch.right, at(r)),
          row < 0 ? 0 : p.step(args, l, row),
          p.step(args, l, sequential_),
          p.step(args, r, sequential_),
          p.step(args, r, vector_axis_),
          row < 0 ? 1 : p.length(args, row),
          p.length(args, sequential_),
          p.length(args, vector_axis_),
          launch.left,
          launch.right};
}

bool Contraction::left_in_place(const Sides& s) const {
  return !s.left_places && form_.left.plain(form_.lane) && (s.left_step == element_ || s.steps <= 1);
}
bool Contraction::right_in_place(const Sides& s) const {
  return !s.right_places && form_.right.plain(form_.lane) && s.right_column == element_ &&
         (form_.masks || s.columns % form_.lanes == 0);
}

std::vector<SideAxis> Contraction::axes_of(const Partition& box, const uint64_t* args, int operand) const {
  const auto axis = [&](int a) {
    return a < 0 ? SideAxis{1, 0} : SideAxis{box.length(args, a), box.step(args, operand, a)};
  };
  const bool left = operand == form_.left.operand;
  std::vector<SideAxis> all{axis(left ? form_.row_axis : sequential_),
                            axis(left ? sequential_ : vector_axis_)};
  for (const int a : outer_) all.push_back(axis(a));
  return all;
}

namespace {
/// Returns the copy's axes, its source and its result.
FoldedSide folded_side(const Partition& copy, const uint64_t* args, const std::vector<SideAxis>& sides) {
  const int to = copy.writes(0) ? 0 : 1, from = 1 - to;
  std::vector<CopyAxis> axes;
  for (int a = 0; a < copy.layout().rank; ++a)
    axes.push_back({copy.length(args, a), copy.step(args, from, a), copy.step(args, to, a)});
  const auto at = [&](int o) { return reinterpret_cast<const char*>(args[copy.layout().pointer(o)]); };
  return {std::move(axes), at(from), at(to), sides};
}
}  // namespace

bool Contraction::folds(const Partition& box, const uint64_t* args, const Folded& f) const {
  const bool left = f.operand == form_.left.operand;
  const ContractionSide& side = left ? form_.left : form_.right;
  if (f.operand != side.operand || form_.left.operand == form_.right.operand || form_.tiles ||
      !side.plain(form_.lane) || form_.lane > ContractionLane::i32)
    return false;
  // A side that several matrices have in common is not made of the copy's axes: it is copied once, where it
  // would be packed for each of them.
  const std::vector<SideAxis> axes = axes_of(box, args, f.operand);
  return folded_side(*f.copy, f.args, axes).made_of(axes);
}

void Contraction::run(const Partition& box, Partition::Entry entry, uint64_t* args, int threads,
                      std::span<const Folded> folded) const {
  Launch l{box, entry, threads};
  std::vector<Places> places;
  places.reserve(folded.size());
  for (const Folded& f : folded) {
    const std::vector<SideAxis> axes = axes_of(box, args, f.operand);
    FoldedSide side = folded_side(*f.copy, f.args, axes);
    auto row = side.places(axes[0]), column = side.places(axes[1]);
    places.push_back({std::move(side), std::move(row), std::move(column)});
    (f.operand == form_.left.operand ? l.left : l.right) = &places.back();
  }
  run_all(l, args);
}

void Contraction::run_all(Launch l, uint64_t* args) const {
  const Partition& box = l.box;
  const Sides s = sides(l, args);
  int64_t matrices = 1;
  for (int a : outer_) matrices *= box.length(args, a);
  if (matrices == 0 || s.rows == 0 || s.columns == 0) return;
  const double vectors = static_cast<double>(matrices) * static_cast<double>(s.rows) *
                         static_cast<double>(divide_up(s.columns, form_.lanes)) *
                         static_cast<double>(s.steps + 1);
  const double right_bytes = static_cast<double>(matrices) * static_cast<double>(s.steps * s.columns) *
                             static_cast<double>(size_of(form_.right.from));
  if (l.threads > 1 && !worth_threads(shortest_time(vectors, right_bytes))) l.threads = 1;
  const bool in_order = left_in_place(s) && right_in_place(s);
  const bool one_tile = s.columns <= form_.vectors * form_.lanes;  // which goes through it in order anyway
  if (in_order && form_.rows == 1 && s.rows == 1 && matrices == 1 && !one_tile && s.steps > kFarSteps &&
      s.steps * s.columns * element_ > row_order_bytes())
    return row_in_order(l, s, args);
  const bool page_apart = s.right_step >= kPage;  // each step would look up another page
  const bool unpacked = in_order && (s.rows < kRowsWorthPacking ||
                                     (!page_apart && s.steps * s.columns * element_ <= small_right()));
  if (unpacked && !is_long_and_narrow(s)) return in_place(l, s, args);
  const int64_t together = matrices >= l.threads ? l.threads : 1;  // matrices at once
  const int64_t grain = divide_up(matrices, together);
  Launch inside = l;
  if (together > 1) inside.threads = 1;
  box.each_piece(args, together, l.threads, [&](uint64_t* mine, int64_t piece) {
    std::vector<uint64_t> one(static_cast<size_t>(box.layout().words()));
    for (int64_t m = piece * grain; m < std::min(matrices, (piece + 1) * grain); ++m) {
      std::copy_n(mine, one.size(), one.data());
      int64_t rest = m;
      for (size_t i = outer_.size(); i-- > 0;) {
        const int64_t n = box.length(mine, outer_[i]), at = rest % n;
        rest /= n;
        box.restrict(one.data(), outer_[i], at, at + 1);
      }
      unpacked ? in_parts(inside, one.data()) : one_matrix(inside, one.data());
    }
  });
}

/// Multiplies both sides as they lie, in one launch or in one for each thread.
void Contraction::in_place(const Launch& l, const Sides& s, uint64_t* args) const {
  if (l.threads < 2) return l.entry(args);
  int axis = -1;
  int64_t n = 0, unit = 1;
  for (int a : outer_)
    if (axis < 0 && l.box.length(args, a) >= l.threads) axis = a;
  if (axis < 0) {
    const int64_t width = form_.vectors * form_.lanes;
    const bool by_columns = s.columns / width >= l.threads || s.columns > s.rows;
    axis = by_columns || form_.row_axis < 0 ? vector_axis_ : form_.row_axis;
    unit = axis != vector_axis_ ? form_.rows : s.columns >= width * l.threads ? width : form_.lanes;
  }
  n = divide_up(l.box.length(args, axis), unit);
  const int64_t grain = divide_up(n, l.threads);
  l.box.each_piece(args, divide_up(n, grain), l.threads, [&](uint64_t* mine, int64_t p) {
    l.box.restrict(mine, axis, p * grain * unit, std::min(l.box.length(args, axis), (p + 1) * grain * unit));
    l.entry(mine);
  });
}

/// Returns the steps of which all columns stay in the second-level cache while tiles of rows pass, 0 if those
/// are too few.
int64_t Contraction::near_steps(const Sides& s) const {
  const int64_t steps = near_bytes(false) * in_lane() / (s.columns * element_) / 64 * 64;
  return steps >= kFewestSteps ? steps : 0;
}

/// True if every tile of rows would read all of the right side from beyond the second-level cache, but not
/// if it is passed in parts of near_steps().
bool Contraction::is_long_and_narrow(const Sides& s) const {
  return form_.rows > 1 && s.rows > form_.rows &&
         s.steps * s.columns * element_ > static_cast<int64_t>(caches().l2 / 2) && near_steps(s) > 0;
}

/// Multiplies rows and columns of one matrix as they lie, `part` steps at a time, between which sums wait in
/// memory.
void Contraction::part_by_part(const Launch& l, const Sides& s, int64_t part, const Block& b,
                               uint64_t* args) const {
  const Scratch sums(b.rows * round_up(b.columns, form_.lanes) * element_);
  std::vector<uint64_t> one(static_cast<size_t>(l.box.layout().words()));
  ContractionPlan plan;
  plan.left_row = s.left_row;
  plan.right_step = s.right_step;
  plan.right_chunk = form_.vectors * form_.lanes * element_;
  plan.tiles = sums.data();
  if (form_.row_axis >= 0) l.box.restrict(args, form_.row_axis, b.row, b.row + b.rows);
  l.box.restrict(args, vector_axis_, b.column, b.column + b.columns);
  for (int64_t first = 0; first < s.steps; first += part) {
    plan.left = s.left + b.row * s.left_row + first * element_;
    plan.right = s.right + first * s.right_step + b.column * element_;
    plan.steps = std::min(part, s.steps - first);
    plan.flags = flags_of_part(first, plan.steps, s.steps);
    std::copy_n(args, one.size(), one.data());
    launch(l, plan, one.data());
  }
}

/// Multiplies both sides of one matrix as they lie, near_steps() at a time: all tiles of rows then find the
/// right side in the second-level cache.
void Contraction::in_parts(const Launch& l, const uint64_t* args) const {
  const Sides s = sides(l, args);
  const int64_t tiles = divide_up(s.rows, form_.rows), grain = divide_up(tiles, l.threads) * form_.rows;
  l.box.each_piece(args, divide_up(s.rows, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const int64_t row = piece * grain;
    part_by_part(l, s, near_steps(s), {row, std::min(grain, s.rows - row), 0, s.columns}, mine);
  });
}

/// Multiplies one row by a right side that no near cache holds, a few rows of that at a time: they are read
/// as they lie, while a tile that takes all rows would read short runs. Sums wait in the first-level cache.
void Contraction::row_in_order(const Launch& l, const Sides& s, const uint64_t* args) const {
  const int64_t chunks = divide_up(s.columns, form_.lanes), grain = divide_up(chunks, l.threads),
                width = grain * form_.lanes;
  const int64_t least = s.steps * s.columns * element_ > far_bytes() ? kFarSteps : kNearSteps,
                together = std::max(least, static_cast<int64_t>(caches().l1d / 2) / (s.columns * element_));
  set_next_direction(Direction::down);  // this one goes up
  l.box.each_piece(args, divide_up(chunks, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const int64_t begin = piece * width;
    part_by_part(l, s, together, {0, 1, begin, std::min(width, s.columns - begin)}, mine);
  });
}

void Contraction::one_matrix(const Launch& l, uint64_t* args) const {
  const Sides s = sides(l, args);
  if (takes_dots(s)) return dots(l, s, args);
  if (s.rows <= 4 * form_.rows || left_stays_near(l, s)) return few_rows(l, s, args);
  many_rows(l, s, args);
}

/// True if lanes may run along the sum: a few rows of integers, of which every order gives the same bits.
bool Contraction::takes_dots(const Sides& s) const {
  const bool integers = form_.lane == ContractionLane::pairs || form_.lane == ContractionLane::quads;
  const DType left = form_.left.from, right = form_.right.from;
  return integers && s.steps >= kShortestDot && s.right_step == static_cast<int64_t>(size_of(right)) &&
         s.rows <= (form_.rows > 1 ? DottedRows::most(left, right, wide()) : 1);
}

/// Multiplies a few rows along the sum; the generated code does the epilogue of what it finds complete.
void Contraction::dots(const Launch& l, const Sides& s, const uint64_t* args) const {
  const DottedRows rows({s.left, s.left_row, s.left_step, form_.left.from}, s.rows, s.steps, form_.right.from,
                        wide());
  // Of several rows, each launch has one tile, whose rows lie one after the other.
  const int64_t width = form_.vectors * form_.lanes * (form_.rows > 1 ? 1 : 4);
  const int64_t chunks = divide_up(s.columns, width), grain = divide_up(chunks, l.threads);
  l.box.each_piece(args, divide_up(chunks, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const Scratch sums(s.rows * width * element_);
    std::vector<uint64_t> one(static_cast<size_t>(l.box.layout().words()));
    ContractionPlan plan;
    plan.tiles = sums.data();
    plan.flags = ContractionPlan::kResume;
    for (int64_t c = piece * grain; c < std::min(chunks, (piece + 1) * grain); ++c) {
      const int64_t begin = c * width, columns = std::min(width, s.columns - begin);
      const PackSource right{s.right + begin * s.right_column, s.right_step, s.right_column,
                             form_.right.from};
      rows.multiply(right, columns, reinterpret_cast<int32_t*>(sums.data()), round_up(columns, form_.lanes));
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
bool Contraction::left_stays_near(const Launch& l, const Sides& s) const {
  const int64_t width = form_.vectors * form_.lanes,
                part = form_.tiles ? s.steps
                                   : std::min(s.steps, near_bytes(false) * in_lane() / (width * element_));
  return s.rows * lane_steps(part) * element_ <= static_cast<int64_t>(caches().l2 / 2) &&
         s.columns >= 4 * l.threads * width;
}

void Contraction::launch(const Launch& l, const ContractionPlan& plan, uint64_t* args) const {
  args[ArgLayout::kScratch] = 1;
  args[ArgLayout::kScratch + 1] = reinterpret_cast<uint64_t>(&plan);
  l.entry(args);
}

void Contraction::pack_left(const Sides& s, int64_t row, int64_t rows, int64_t step, int64_t steps, char* to,
                            int64_t pitch) const {
  if (const Places* p = s.left_places)
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
void Contraction::pack_left_tiles(const PackSource& s, int64_t rows, int64_t steps, char* to,
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

/// Packs `width` columns a step; what is beyond `columns` becomes zero.
void Contraction::pack_right(const Sides& s, int64_t step, int64_t steps, int64_t column, int64_t columns,
                             char* to, int64_t width) const {
  const PackSource from{s.right + step * s.right_step + column * s.right_column, s.right_step, s.right_column,
                        form_.right.from};
  const int64_t pitch = width * element_;
  if (const Places* p = s.right_places)
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

/// Multiplies so few rows that the right side is read once or little more: a block of it is copied to a near
/// cache, then multiplied at once.
void Contraction::few_rows(const Launch& l, const Sides& s, const uint64_t* args) const {
  const bool left_copied = !left_in_place(s),
             right_copied = !right_in_place(s) || s.rows >= kRowsWorthPacking;
  const int64_t pitch = round_up(lane_steps(s.steps) * element_, 64);
  const Scratch left(left_copied ? left_bytes(s.rows, pitch) : 0);
  if (left_copied) pack_left(s, 0, s.rows, 0, s.steps, left.data(), pitch);
  // A single row from far memory takes longer runs of fewer columns.
  const bool far = s.steps * s.columns * element_ > far_bytes();
  const int64_t width = (form_.rows > 1 ? form_.vectors : far ? 2 : 4) * form_.lanes;
  const int64_t part = part_of(s.steps, near_bytes(far) * in_lane() / (width * element_));
  const int64_t chunks = divide_up(s.columns, width), grain = divide_up(chunks, l.threads);
  l.box.each_piece(args, divide_up(chunks, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const int64_t begin = piece * grain * width, end = std::min(s.columns, (piece + 1) * grain * width);
    ContractionPlan plan;
    plan.left = left_copied ? left.data() : s.left;
    plan.left_row = left_copied ? pitch : s.left_row;
    plan.left_tile_row = 64;
    plan.left_tile_step = 64 * form_.rows;
    if (!right_copied) {
      plan.right = s.right + begin * element_;
      plan.right_step = s.right_step;
      plan.right_chunk = form_.vectors * form_.lanes * element_;
      plan.steps = lane_steps(s.steps);
      l.box.restrict(mine, vector_axis_, begin, end);
      return launch(l, plan, mine);
    }
    const Scratch panel((lane_steps(part) + starts()) * width * element_),
        tiles(s.steps > part ? s.rows * width * element_ : 0);
    std::vector<uint64_t> one(static_cast<size_t>(l.box.layout().words()));
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
        pack_right(s, first, steps, column, columns, panel.data(), width);
        ContractionPlan now = plan;
        now.left += lane_steps(first) * element_ * (form_.tiles ? form_.rows : 1);
        now.steps = lane_steps(steps);
        now.flags = flags_of_part(first, steps, s.steps);
        launch(l, now, one.data());
        first += part;
      } while (first < s.steps);
    }
  });
}

/// Copies the right side for all threads, then multiplies blocks of rows by it.
void Contraction::many_rows(const Launch& l, const Sides& s, const uint64_t* args) const {
  const bool left_copied = !left_in_place(s),
             right_copied = !right_in_place(s) || s.rows >= kRowsWorthPacking;
  const int64_t parts = s.steps > kLongestPart + kLongestPart / 2 ? divide_up(s.steps, kLongestPart) : 1;
  const int64_t part = std::max<int64_t>(1, parts == 1 ? s.steps : round_up(divide_up(s.steps, parts), 64));
  const int64_t lane_part = lane_steps(part), width = form_.vectors * form_.lanes,
                chunk_bytes = (lane_part + starts()) * width * element_;
  // A left side that is read as it lies passes often; then what is packed stays in the second-level cache.
  const int64_t most = left_copied ? kMostPacked : static_cast<int64_t>(caches().l2 / 4) * l.threads;
  const int64_t panel = std::max<int64_t>(1, most / std::max<int64_t>(chunk_bytes, 1)) * width;
  const int64_t pitch = round_up(lane_part * element_, 64);
  // These rows' left side stays in the second-level cache while all columns pass.
  int64_t block = std::max<int64_t>(form_.rows, static_cast<int64_t>(caches().l2 / 3) /
                                                    std::max<int64_t>(pitch, 1) / form_.rows * form_.rows);
  block = std::min(block, round_up(divide_up(s.rows, l.threads), form_.rows));
  const int64_t blocks = divide_up(s.rows, block);
  for (int64_t begin = 0; begin < s.columns; begin += panel) {
    const int64_t columns = std::min(panel, s.columns - begin), chunks = divide_up(columns, width);
    // When there are fewer blocks of rows than threads, columns are shared out too.
    const int64_t strips =
        blocks >= 2 * l.threads || blocks % l.threads == 0 ? 1 : std::min<int64_t>(chunks, l.threads);
    const int64_t strip = divide_up(chunks, strips);
    const int64_t task_bytes =
        parts > 1 ? block * round_up(std::min(columns, strip * width), form_.lanes) * element_ : 0;
    const Scratch right(right_copied ? chunks * chunk_bytes : 0), tiles(blocks * strips * task_bytes);
    for (int64_t first = 0; first == 0 || first < s.steps; first += part) {
      const int64_t steps = std::min(part, s.steps - first);
      if (right_copied) {
        const int64_t grain = divide_up(chunks, l.threads);
        l.box.each_piece(args, divide_up(chunks, grain), l.threads, [&](uint64_t*, int64_t p) {
          for (int64_t c = p * grain; c < std::min(chunks, (p + 1) * grain); ++c)
            pack_right(s, first, steps, begin + c * width, std::min(width, columns - c * width),
                       right.data() + c * chunk_bytes, width);
        });
      }
      l.box.each_piece(args, blocks * strips, l.threads, [&](uint64_t* mine, int64_t task) {
        const int64_t row = task / strips * block, chunk = task % strips * strip;
        const int64_t rows = std::min(block, s.rows - row);
        if (chunk >= chunks) return;
        const Scratch left(left_copied ? left_bytes(rows, pitch) : 0);
        ContractionPlan plan;
        plan.left = s.left + row * s.left_row + first * s.left_step;
        plan.left_row = s.left_row;
        plan.left_tile_row = 64;
        plan.left_tile_step = 64 * form_.rows;
        if (left_copied) {
          pack_left(s, row, rows, first, steps, left.data(), pitch);
          plan.left = left.data();
          plan.left_row = pitch;
        }
        plan.right = right_copied ? right.data() + chunk * chunk_bytes
                                  : s.right + first * s.right_step + (begin + chunk * width) * element_;
        plan.right_step = right_copied ? width * element_ : s.right_step;
        plan.right_chunk = right_copied ? chunk_bytes : width * element_;
        plan.steps = lane_steps(steps);
        plan.tiles = tiles.data() + task * task_bytes;
        plan.flags = flags_of_part(first, steps, s.steps);
        l.box.restrict(mine, form_.row_axis, row, row + rows);
        l.box.restrict(mine, vector_axis_, begin + chunk * width,
                       begin + std::min(columns, (chunk + strip) * width));
        launch(l, plan, mine);
      });
    }
  }
}

}  // namespace lazy::cpu_backend
