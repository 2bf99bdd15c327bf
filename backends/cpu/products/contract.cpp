#include "backends/cpu/products/contract.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/products/strategy.hpp"
#include "backends/cpu/threads/machine.hpp"
#include "support/arithmetic.hpp"
#include "support/file_pages.hpp"

namespace lazy::cpu_backend {
using jit::loop::ArgLayout;
namespace {

constexpr double kVectorsANanosecond = 3;  // vectors that a thread multiplies and adds in a nanosecond

/// Returns the nanoseconds that a thread needs at least: few rows wait for the right side.
double shortest_time(double vectors, double right_bytes) {
  const double multiplying = vectors / kVectorsANanosecond;
  if (right_bytes < static_cast<double>(caches().l1d)) return multiplying;
  return std::max(multiplying, right_bytes / bandwidth(machine(), right_bytes));
}

/// Returns the threads that multiply all matrices of a launch: one where the others would cost more than they
/// save.
int useful_threads(const Product& p, const ContractionSides& s, int64_t matrices, int threads) {
  if (threads == 1) return 1;
  const auto all = static_cast<double>(matrices);
  const double vectors = all * static_cast<double>(s.rows) *
                         static_cast<double>(divide_up(s.columns, p.form.lanes)) *
                         static_cast<double>(s.steps + 1);
  const double right_bytes =
      all * static_cast<double>(s.steps * s.columns) * static_cast<double>(size_of(p.form.right.from));
  return worth_threads(shortest_time(vectors, right_bytes)) ? threads : 1;
}

/// Multiplies one matrix.
void multiply(Strategy strategy, const Product& p, const ProductLaunch& l, const uint64_t* args) {
  const ContractionSides s = p.sides(l, args);
  switch (strategy) {
    case Strategy::in_parts: return in_parts(p, l, s, args);
    case Strategy::dots: return dots(p, l, s, args);
    case Strategy::row_across: return row_across(p, l, s, args);
    case Strategy::windows: return windows(p, l, s, args);
    case Strategy::few_rows: return few_rows(p, l, s, args);
    case Strategy::few_rows_by_packed: return few_rows_by_packed(p, l, s, args);
    case Strategy::many_rows: return many_rows(p, l, s, args);
    default: return;  // these take all matrices
  }
}

/// Returns the axes of one side: rows, columns, all others.
std::vector<SideAxis> axes_of(const Product& p, const Partition& box, const uint64_t* args, int operand) {
  const auto axis = [&](int a) {
    return a < 0 ? SideAxis{1, 0} : SideAxis{box.length(args, a), box.step(args, operand, a)};
  };
  const bool left = operand == p.form.left.operand;
  std::vector<SideAxis> all{axis(left ? p.form.row_axis : p.sequential),
                            axis(left ? p.sequential : p.vector_axis)};
  for (const int a : p.outer) all.push_back(axis(a));
  return all;
}

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
  const Product& p = product_;
  const bool left = operand == p.form.left.operand;
  const ContractionSide& side = left ? p.form.left : p.form.right;
  if (operand != side.operand || p.form.left.operand == p.form.right.operand || p.form.tiles ||
      !side.plain(p.form.lane) || p.form.lane > ContractionLane::i32)
    return nullptr;
  const std::vector<SideAxis> axes = axes_of(p, box, args, operand);
  FoldedSide folded = folded_side(copy, copy_args, axes);
  // A side that several matrices have in common is not made of the copy's axes: it is copied once, where it
  // would be packed for each of them.
  if (!folded.made_of(axes)) return nullptr;
  auto row = folded.places(axes[0]), column = folded.places(axes[1]);
  return std::make_unique<FoldedPlaces>(operand, std::move(folded), std::move(row), std::move(column));
}

void Contraction::run(const Partition& box, Partition::Entry entry, uint64_t* args, int threads,
                      std::span<const std::unique_ptr<jit::FoldedOperand>> folded) const {
  const Product& p = product_;
  ProductLaunch l{box, entry, threads};
  l.packed = reinterpret_cast<const char*>(args[ArgLayout::kPacked]);
  for (const auto& f : folded) {
    const auto* const places = static_cast<const FoldedPlaces*>(f.get());
    (places->operand == p.form.left.operand ? l.left : l.right) = places;
  }
  const ContractionSides s = p.sides(l, args);
  const int64_t all = p.matrices(box, args);
  l.threads = useful_threads(p, s, all, threads);
  // Threads take whole matrices if there are enough of them.
  const int64_t together = all >= l.threads ? l.threads : 1;
  ProductLaunch one_matrix = l;
  if (together > 1) one_matrix.threads = 1;
  const Strategy strategy = choose(p, one_matrix, s, all);
  if (strategy == Strategy::nothing) return;
  if (strategy == Strategy::row_in_order) return row_in_order(p, l, s, args);
  if (strategy == Strategy::in_place) return in_place(p, l, s, args);
  const int64_t grain = divide_up(all, together);
  box.each_piece(args, together, l.threads, [&](uint64_t* mine, int64_t piece) {
    LaunchWords one(box.layout().words());
    for (int64_t m = piece * grain; m < std::min(all, (piece + 1) * grain); ++m) {
      std::copy_n(mine, one.size(), one.data());
      ProductLaunch of_one = one_matrix;
      const int64_t right = p.select(box, m, one.data());
      if (l.packed) of_one.packed = l.packed + right * p.packed_right(s).bytes();
      multiply(strategy, p, of_one, one.data());
    }
  });
}

size_t Contraction::packing(const Partition& box, const uint64_t* args, std::vector<uint64_t>& form) const {
  const Product& p = product_;
  const ProductLaunch alone{box, nullptr, 1};
  const ContractionSides s = p.sides(alone, args);
  const Strategy strategy = choose(p, alone, s, p.matrices(box, args));
  const bool copied =
                 (strategy == Strategy::few_rows || strategy == Strategy::many_rows) && p.copies_right(s),
             in_place = strategy == Strategy::in_place || strategy == Strategy::in_parts;
  if (p.form.left.operand == p.form.right.operand || (p.form.rows == 1 && s.rows > 1) || s.steps == 0 ||
      !(copied || (in_place && worth_keeping(p, s))))
    return 0;
  const PackedRight r = p.packed_right(s);
  const auto word = [&](auto w) { form.push_back(static_cast<uint64_t>(w)); };
  word(p.form.lane), word(p.form.tiles), word(p.form.right.from), word(p.form.left.from == DType::int8);
  word(r.width), word(r.part), word(s.steps), word(s.columns), word(s.right_step), word(s.right_column);
  int64_t rights = 1;
  for (const int a : p.outer) {
    const int64_t step = box.step(args, p.form.right.operand, a);
    if (step == 0) continue;
    word(box.length(args, a)), word(step);
    rights *= box.length(args, a);
  }
  return static_cast<size_t>(rights * r.bytes());
}

namespace {

/// Gives back the pages of a file that the right side lies in: what was packed of it is not read again, and
/// what was not comes again.
void give_back_right(const ContractionSides& s, DType element) {
  const int64_t down = (s.steps - 1) * s.right_step, across = (s.columns - 1) * s.right_column;
  const char* const first = s.right + std::min<int64_t>(down, 0) + std::min<int64_t>(across, 0);
  const int64_t bytes = std::abs(down) + std::abs(across) + static_cast<int64_t>(size_of(element));
  file_pages::give_back(first, static_cast<size_t>(bytes));
}

}  // namespace

void Contraction::pack(const Partition& box, const uint64_t* args, char* to, int threads) const {
  const Product& p = product_;
  const ProductLaunch alone{box, nullptr, 1};
  const PackedRight r = p.packed_right(p.sides(alone, args));
  std::vector<uint64_t> first(args, args + box.layout().words());
  int64_t rights = 1;  // axes along which the right side stays have one index
  for (const int a : p.outer) {
    if (box.step(args, p.form.right.operand, a) != 0) rights *= box.length(args, a);
    else box.restrict(first.data(), a, 0, 1);
  }
  const int64_t all = rights * r.parts * r.chunks, grain = divide_up(all, threads);
  box.each_piece(first.data(), divide_up(all, grain), threads, [&](uint64_t* mine, int64_t piece) {
    constexpr int64_t kMostBeside = int64_t{4} << 20;  // bytes that are packed while their pages stay
    LaunchWords one(box.layout().words());
    int64_t beside = 0;
    for (int64_t i = piece * grain; i < std::min(all, (piece + 1) * grain); ++i) {
      std::copy_n(mine, one.size(), one.data());
      p.select(box, i / (r.parts * r.chunks), one.data());
      const ContractionSides s = p.sides(alone, one.data());
      const int64_t step = i / r.chunks % r.parts * r.part, column = i % r.chunks * r.width;
      p.packer.pack_right(s, step, std::min(r.part, s.steps - step), column,
                          std::min(r.width, s.columns - column), to + i * r.chunk_bytes, r.width);
      if ((beside += r.chunk_bytes) < kMostBeside || !file_pages::any()) continue;
      give_back_right(s, p.form.right.from);
      beside = 0;
    }
  });
}

}  // namespace lazy::cpu_backend
