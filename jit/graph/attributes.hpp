// Gives names to the integers that are part of what an op computes (Node::ints, steps and axes, the same in
// Attributes). Most ops use them as lists; what else they mean is written and read by the functions here.
#pragma once
#include "jit/core/shape.hpp"
#include "jit/graph/indexed.hpp"

namespace lazy::jit {

/// Says what is known of a reshape.
enum class ReshapeKind : int64_t {
  any,
  // Only dimensions of extent 1 are added or removed, which record() finds: an index map of any layout.
  unit,
  // The first dimensions stay as they are whatever the extents, which only the caller of record() knows.
  leading_kept
};

struct Attributes {
  Dims ints, steps, axes;  // see Node

  /// Returns those of a reduction, scan or iota.
  static Attributes along(int axis) { return {.ints = {}, .steps = {}, .axes = {axis}}; }
  static Attributes gather(int axis, Bounds bounds) {
    return {.ints = {}, .steps = {}, .axes = {axis, static_cast<int64_t>(bounds)}};
  }
  static Attributes scatter(int axis, Bounds bounds, Combine combine) {
    return {
        .ints = {}, .steps = {}, .axes = {axis, static_cast<int64_t>(bounds), static_cast<int64_t>(combine)}};
  }
  /// Returns those of a reshape whose first dimensions are kept, as many as said.
  static Attributes reshape(const Shape& shape, int leading_kept) {
    const auto kind = static_cast<int64_t>(ReshapeKind::leading_kept);
    return {.ints = shape, .steps = {}, .axes = leading_kept > 0 ? Dims{kind, leading_kept} : Dims{}};
  }
  static Attributes slice_update(const Dims& start, const Dims& step) {
    return {.ints = start, .steps = step, .axes = {}};
  }
  /// Returns those of an update where the base has nothing: one of the parts that a value is put together of.
  static Attributes piece(const Dims& start) {
    return {.ints = start, .steps = Dims(start.size(), 1), .axes = {1}};
  }
};

/// Returns the axis of a reduction, scan or iota, or of a gather or scatter.
template <typename N>
int axis_of(const N& n) {
  return static_cast<int>(n.axes[0]);
}
/// Returns which output of a call a part is.
template <typename N>
size_t output_of(const N& part) {
  return static_cast<size_t>(part.axes[0]);
}

/// Returns what a gather or scatter was given.
template <typename N>
Indexed indexed_of(const N& n) {
  Indexed x{axis_of(n), static_cast<Bounds>(n.axes[1])};
  if (n.axes.size() > 2) x.combine = static_cast<Combine>(n.axes[2]);
  return x;
}

template <typename N>
ReshapeKind reshape_kind(const N& n) {
  return n.axes.size() == 0 ? ReshapeKind::any : static_cast<ReshapeKind>(n.axes[0]);
}
template <typename N>
void mark_unit_reshape(N& n) {
  n.axes = Dims{static_cast<int64_t>(ReshapeKind::unit)};
}
/// Returns how many leading dimensions of a reshape of that kind stay as they are.
template <typename N>
int kept_dimensions(const N& n) {
  return static_cast<int>(n.axes[1]);
}

/// True if a slice update puts a piece where the base has nothing.
template <typename N>
bool is_piece(const N& update) {
  return update.axes.size() != 0;
}

/// Marks a constant as one of which no element is read (record.hpp, overwritten()).
template <typename N>
void mark_overwritten(N& constant) {
  constant.axes.push_back(1);
}
template <typename N>
bool is_marked_overwritten(const N& constant) {
  return constant.axes.size() != 0;
}

}  // namespace lazy::jit
