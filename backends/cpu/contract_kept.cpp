// Packs a right side once for all launches, and multiplies few rows by it.
#include <algorithm>

#include "backends/cpu/contract.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {
namespace {
constexpr int64_t kLongestPart = 1024;  // indices of the sequential axis in a part, when it is done in parts
}  // namespace

/// A kernel for one row takes chunks as wide as one for many rows does, so that both read the same copy.
PackedRight Contraction::packed_right(const ContractionSides& s) const {
  PackedRight r{};
  const int vectors = form_.rows > 1 ? form_.vectors : wide() ? 3 : 2;
  r.width = vectors * form_.lanes;
  r.parts = s.steps > kLongestPart + kLongestPart / 2 ? divide_up(s.steps, kLongestPart) : 1;
  r.part = std::max<int64_t>(1, r.parts == 1 ? s.steps : round_up(divide_up(s.steps, r.parts), 64));
  r.chunks = divide_up(s.columns, r.width);
  r.chunk_bytes = (packer_.lane_steps(r.part) + packer_.starts()) * r.width * element_;
  return r;
}

size_t Contraction::packing(const Partition& box, const uint64_t* args, std::vector<uint64_t>& form) const {
  const ContractionSides s = sides({box, nullptr, 1}, args);
  if (form_.left.operand == form_.right.operand || way_of(s, matrices(box, args)) != Way::one_matrix ||
      takes_dots(s) || !copies_right(s) || (form_.rows == 1 && s.rows > 1) || s.steps == 0)
    return 0;
  const PackedRight r = packed_right(s);
  const auto word = [&](auto w) { form.push_back(static_cast<uint64_t>(w)); };
  word(form_.lane), word(form_.tiles), word(form_.right.from), word(form_.left.from == DType::int8);
  word(r.width), word(r.part), word(s.steps), word(s.columns), word(s.right_step), word(s.right_column);
  int64_t rights = 1;
  for (const int a : outer_) {
    const int64_t step = box.step(args, form_.right.operand, a);
    if (step == 0) continue;
    word(box.length(args, a)), word(step);
    rights *= box.length(args, a);
  }
  return static_cast<size_t>(rights * r.bytes());
}

void Contraction::pack(const Partition& box, const uint64_t* args, char* to, int threads) const {
  const PackedRight r = packed_right(sides({box, nullptr, 1}, args));
  std::vector<uint64_t> first(args, args + box.layout().words());
  int64_t rights = 1;  // axes along which the right side stays have one index
  for (const int a : outer_) {
    if (box.step(args, form_.right.operand, a) != 0) rights *= box.length(args, a);
    else box.restrict(first.data(), a, 0, 1);
  }
  const int64_t all = rights * r.parts * r.chunks, grain = divide_up(all, threads);
  box.each_piece(first.data(), divide_up(all, grain), threads, [&](uint64_t* mine, int64_t piece) {
    LaunchWords one(box.layout().words());
    for (int64_t i = piece * grain; i < std::min(all, (piece + 1) * grain); ++i) {
      std::copy_n(mine, one.size(), one.data());
      select(box, i / (r.parts * r.chunks), one.data());
      const ContractionSides s = sides({box, nullptr, 1}, one.data());
      const int64_t step = i / r.chunks % r.parts * r.part, column = i % r.chunks * r.width;
      packer_.pack_right(s, step, std::min(r.part, s.steps - step), column,
                         std::min(r.width, s.columns - column), to + i * r.chunk_bytes, r.width);
    }
  });
}

void Contraction::few_rows_by_packed(const Launch& l, const ContractionSides& s, const uint64_t* args) const {
  const bool left_copied = !packer_.left_in_place(s);
  const int64_t pitch = round_up(packer_.lane_steps(s.steps) * element_, 64);
  const Scratch left(left_copied ? packer_.left_bytes(s.rows, pitch) : 0);
  if (left_copied) pack_left(l, s, left.data(), pitch, args);
  const PackedRight r = packed_right(s);
  // A kernel whose widest tile is one chunk goes from chunk to chunk by itself.
  const bool at_once = r.parts == 1 && r.width == form_.vectors * form_.lanes;
  const int64_t grain = round_up(divide_up(s.columns, l.threads), r.width);
  l.box.each_piece(args, divide_up(s.columns, grain), l.threads, [&](uint64_t* mine, int64_t piece) {
    const int64_t begin = piece * grain, end = std::min(s.columns, begin + grain);
    ContractionPlan plan;
    plan.left = left_copied ? left.data() : s.left;
    plan.left_row = left_copied ? pitch : s.left_row;
    plan.left_tile_row = 64;
    plan.left_tile_step = 64 * form_.rows;
    plan.right_step = r.width * element_;
    plan.right_chunk = r.chunk_bytes;
    const int64_t width = at_once ? end - begin : r.width;
    const Scratch tiles(r.parts > 1 ? s.rows * width * element_ : 0);
    plan.tiles = tiles.data();
    LaunchWords one(l.box.layout().words());
    for (int64_t column = begin; column < end; column += width) {
      std::copy_n(mine, one.size(), one.data());
      l.box.restrict(one.data(), vector_axis_, column, std::min(column + width, end));
      for (int64_t p = 0; p < r.parts; ++p) {
        const int64_t first = p * r.part, steps = std::min(r.part, s.steps - first);
        ContractionPlan now = plan;
        now.left += packer_.lane_steps(first) * element_ * (form_.tiles ? form_.rows : 1);
        now.right = l.packed + p * r.part_bytes() + column / r.width * r.chunk_bytes;
        now.steps = packer_.lane_steps(steps);
        now.flags = ContractionPlan::flags_of(first, steps, s.steps);
        launch(l, now, one.data());
      }
    }
  });
}

}  // namespace lazy::cpu_backend
