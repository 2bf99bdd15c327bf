#include "backends/cpu/contract.hpp"

#include <algorithm>
#include <utility>

#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/threads/machine.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {
using jit::loop::ArgLayout;
namespace {

constexpr double kVectorsANanosecond = 3;  // vectors that a thread multiplies and adds in a nanosecond
// Returns the bytes up to which a right side isn't worth copying, as the second-level cache holds it or
// nearly.
int64_t small_right() { return static_cast<int64_t>(caches().l2 / 2 * 3); }
// Returns the bytes beyond which a single row takes the right side in the order in which it lies.
int64_t row_order_bytes() { return static_cast<int64_t>(caches().l2 / 4 * 3); }
constexpr int64_t kPage = 4096;  // bytes

/// Returns the nanoseconds that a thread needs at least: few rows wait for the right side.
double shortest_time(double vectors, double right_bytes) {
  const double multiplying = vectors / kVectorsANanosecond;
  if (right_bytes < static_cast<double>(caches().l1d)) return multiplying;
  return std::max(multiplying, right_bytes / bandwidth(machine(), right_bytes));
}

}  // namespace

Contraction::Contraction(const jit::loop::LoopKernel& k, const ContractionForm& f)
    : form_(f), packer_(f), vector_axis_(k.rank - 1), sequential_(k.sequential), element_(bytes_of(f.lane)) {
  for (int a = 0; a < k.rank; ++a)
    if (a != vector_axis_ && a != sequential_ && a != f.row_axis) outer_.push_back(a);
}

ContractionSides Contraction::sides(const Launch& launch, const uint64_t* args) const {
  const Partition& p = launch.box;
  const auto at = [&](int operand) {
    return reinterpret_cast<const char*>(args[p.layout().pointer(operand)]);
  };
  const auto source = [](const FoldedPlaces* places, const char* at) {
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

std::unique_ptr<FoldedPlaces> Contraction::fold(const Partition& box, const uint64_t* args, int operand,
                                                const Partition& copy, const uint64_t* copy_args) const {
  const bool left = operand == form_.left.operand;
  const ContractionSide& side = left ? form_.left : form_.right;
  if (operand != side.operand || form_.left.operand == form_.right.operand || form_.tiles ||
      !side.plain(form_.lane) || form_.lane > ContractionLane::i32)
    return nullptr;
  const std::vector<SideAxis> axes = axes_of(box, args, operand);
  FoldedSide folded = folded_side(copy, copy_args, axes);
  // A side that several matrices have in common is not made of the copy's axes: it is copied once, where it
  // would be packed for each of them.
  if (!folded.made_of(axes)) return nullptr;
  auto row = folded.places(axes[0]), column = folded.places(axes[1]);
  return std::make_unique<FoldedPlaces>(operand, std::move(folded), std::move(row), std::move(column));
}

void Contraction::run(const Partition& box, Partition::Entry entry, uint64_t* args, int threads,
                      std::span<const std::unique_ptr<jit::FoldedOperand>> folded) const {
  Launch l{box, entry, threads};
  l.packed = reinterpret_cast<const char*>(args[ArgLayout::kPacked]);
  for (const auto& f : folded) {
    const auto* const places = static_cast<const FoldedPlaces*>(f.get());
    (places->operand == form_.left.operand ? l.left : l.right) = places;
  }
  run_all(l, args);
}

int64_t Contraction::matrices(const Partition& box, const uint64_t* args) const {
  int64_t n = 1;
  for (int a : outer_) n *= box.length(args, a);
  return n;
}

Contraction::Way Contraction::way_of(const ContractionSides& s, int64_t matrices) const {
  if (matrices == 0 || s.rows == 0 || s.columns == 0) return Way::nothing;
  const bool in_order = packer_.left_in_place(s) && packer_.right_in_place(s);
  if (in_order && form_.rows == 1 && s.rows == 1 && matrices == 1 && s.steps > kFarSteps &&
      !form_.one_tile(s.columns) &&  // which goes through it in order anyway
      s.steps * s.columns * element_ > row_order_bytes())
    return Way::row_in_order;
  const bool page_apart = s.right_step >= kPage;  // each step would look up another page
  const bool unpacked = in_order && (s.rows < kRowsWorthPacking ||
                                     (!page_apart && s.steps * s.columns * element_ <= small_right()));
  if (!unpacked) return Way::one_matrix;
  return is_long_and_narrow(s) ? Way::in_parts : Way::in_place;
}

int64_t Contraction::select(const Partition& box, int64_t matrix, uint64_t* args) const {
  int64_t right = 0, rights = 1;
  for (size_t i = outer_.size(); i-- > 0;) {
    const int axis = outer_[i];
    const int64_t n = box.length(args, axis), at = matrix % n;
    matrix /= n;
    if (box.step(args, form_.right.operand, axis) != 0) right += at * std::exchange(rights, rights * n);
    box.restrict(args, axis, at, at + 1);
  }
  return right;
}

void Contraction::run_all(Launch l, uint64_t* args) const {
  const Partition& box = l.box;
  const ContractionSides s = sides(l, args);
  const int64_t all = matrices(box, args);
  Way way = way_of(s, all);
  if (way == Way::nothing) return;
  if (l.packed) way = Way::one_matrix;
  const double vectors = static_cast<double>(all) * static_cast<double>(s.rows) *
                         static_cast<double>(divide_up(s.columns, form_.lanes)) *
                         static_cast<double>(s.steps + 1);
  const double right_bytes = static_cast<double>(all) * static_cast<double>(s.steps * s.columns) *
                             static_cast<double>(size_of(form_.right.from));
  if (l.threads > 1 && !worth_threads(shortest_time(vectors, right_bytes))) l.threads = 1;
  if (way == Way::row_in_order) return row_in_order(l, s, args);
  if (way == Way::in_place) return in_place(l, s, args);
  const int64_t together = all >= l.threads ? l.threads : 1;  // matrices at once
  const int64_t grain = divide_up(all, together);
  Launch inside = l;
  if (together > 1) inside.threads = 1;
  box.each_piece(args, together, l.threads, [&](uint64_t* mine, int64_t piece) {
    LaunchWords one(box.layout().words());
    for (int64_t m = piece * grain; m < std::min(all, (piece + 1) * grain); ++m) {
      std::copy_n(mine, one.size(), one.data());
      Launch of_one = inside;
      const int64_t right = select(box, m, one.data());
      if (l.packed) of_one.packed = l.packed + right * packed_right(s).bytes();
      way == Way::in_parts ? in_parts(of_one, one.data()) : one_matrix(of_one, one.data());
    }
  });
}

int64_t Contraction::far_bytes() { return static_cast<int64_t>(caches().l3 / 2); }

void Contraction::restrict(const Launch& l, const ContractionBlock& b, uint64_t* args) const {
  if (form_.row_axis >= 0) l.box.restrict(args, form_.row_axis, b.row, b.row + b.rows);
  l.box.restrict(args, vector_axis_, b.column, b.column + b.columns);
}

void Contraction::launch(const Launch& l, const ContractionPlan& plan, uint64_t* args) const {
  args[ArgLayout::kScratch] = 1;
  args[ArgLayout::kScratch + 1] = reinterpret_cast<uint64_t>(&plan);
  l.entry(args);
}

}  // namespace lazy::cpu_backend
