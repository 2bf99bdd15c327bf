#include "backends/cpu/products/product.hpp"

#include <algorithm>
#include <utility>

#include "backends/cpu/machine/features.hpp"

namespace lazy::cpu_backend {
using jit::loop::ArgLayout;
namespace {
constexpr int64_t kFewestSteps = 256;  // indices of the sequential axis between which sums may wait in memory
constexpr int64_t kLongestPart = 1024;  // indices of the sequential axis in a part, when it is done in parts
}  // namespace

Product::Product(const jit::loop::LoopKernel& k, const ContractionForm& f)
    : form(f), packer(f), vector_axis(k.rank - 1), sequential(k.sequential), element(bytes_of(f.lane)) {
  for (int a = 0; a < k.rank; ++a)
    if (a != vector_axis && a != sequential && a != f.row_axis) outer.push_back(a);
}

ContractionSides Product::sides(const ProductLaunch& launch, const uint64_t* args) const {
  const Partition& p = launch.box;
  const auto at = [&](int operand) {
    return reinterpret_cast<const char*>(args[p.layout().pointer(operand)]);
  };
  const auto source = [](const FoldedPlaces* places, const char* at) {
    return places ? places->side.source(at) : at;
  };
  const int l = form.left.operand, r = form.right.operand, row = form.row_axis;
  return {source(launch.left, at(l)),
          source(launch.right, at(r)),
          row < 0 ? 0 : p.step(args, l, row),
          p.step(args, l, sequential),
          p.step(args, r, sequential),
          p.step(args, r, vector_axis),
          row < 0 ? 1 : p.length(args, row),
          p.length(args, sequential),
          p.length(args, vector_axis),
          launch.left,
          launch.right};
}

int64_t Product::matrices(const Partition& box, const uint64_t* args) const {
  int64_t n = 1;
  for (int a : outer) n *= box.length(args, a);
  return n;
}

int64_t Product::select(const Partition& box, int64_t matrix, uint64_t* args) const {
  int64_t right = 0, rights = 1;
  for (size_t i = outer.size(); i-- > 0;) {
    const int axis = outer[i];
    const int64_t n = box.length(args, axis), at = matrix % n;
    matrix /= n;
    if (box.step(args, form.right.operand, axis) != 0) right += at * std::exchange(rights, rights * n);
    box.restrict(args, axis, at, at + 1);
  }
  return right;
}

void Product::restrict(const ProductLaunch& l, const ContractionBlock& b, uint64_t* args) const {
  if (form.row_axis >= 0) l.box.restrict(args, form.row_axis, b.row, b.row + b.rows);
  l.box.restrict(args, vector_axis, b.column, b.column + b.columns);
}

void Product::launch(const ProductLaunch& l, const ContractionPlan& plan, uint64_t* args) const {
  args[ArgLayout::kScratch] = 1;
  args[ArgLayout::kScratch + 1] = reinterpret_cast<uint64_t>(&plan);
  l.entry(args);
}

int64_t Product::near_bytes(bool far) const {
  if (form.tiles) return static_cast<int64_t>(caches().l1d / 3 * 2);
  return static_cast<int64_t>(form.rows > 1 ? caches().l2 / 4 : far ? caches().l2 / 16 : caches().l1d / 2);
}

int64_t Product::near_steps(const ContractionSides& s) const {
  const int64_t steps = near_bytes(false) * packer.in_lane() / (s.columns * element) / 64 * 64;
  return steps >= kFewestSteps ? steps : 0;
}

/// A kernel for one row takes chunks as wide as one for many rows does, so that both read the same copy.
PackedRight Product::packed_right(const ContractionSides& s) const {
  PackedRight r{};
  const int vectors = form.rows > 1 ? form.vectors : wide() ? 3 : 2;
  r.width = vectors * form.lanes;
  r.parts = s.steps > kLongestPart + kLongestPart / 2 ? divide_up(s.steps, kLongestPart) : 1;
  r.part = std::max<int64_t>(1, r.parts == 1 ? s.steps : round_up(divide_up(s.steps, r.parts), 64));
  r.chunks = divide_up(s.columns, r.width);
  r.chunk_bytes = (packer.lane_steps(r.part) + packer.starts()) * r.width * element;
  return r;
}

int64_t far_bytes() { return static_cast<int64_t>(caches().l3 / 2); }

}  // namespace lazy::cpu_backend
