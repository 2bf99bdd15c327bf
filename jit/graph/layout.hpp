// Where the elements of a strided value lie, and what a view does to that. Strides and offsets in elements.
#pragma once
#include "jit/graph/node.hpp"

namespace lazy::jit {

struct Layout {
  Shape shape;
  Dims strides;  // of dimensions of extent 1: 0
  int64_t offset = 0;

  static Layout contiguous(const Shape&, int64_t offset = 0);
  bool is_contiguous() const;
};

/// The layout of a ready node's value.
Layout layout_of(const Node&);
/// Layout of `view` (a node of kind view) when its operand lies as `in`. False when no strides can express it
/// (a reshape of values that are not packed). Of a gather: of its operand 0 as its result's index moves over
/// it, at index 0 of the axis.
bool view_layout(const Node& view, const Layout& in, Layout& out);
/// `in` broadcast to `shape`, aligned at the right.
Layout broadcast_layout(const Layout& in, const Shape& shape);

/// The axis of a node along which neighbours are side by side, by the views that it was recorded through, or
/// Node::kNoContiguousAxis. So it is the same whether and when the values in between were computed.
int contiguous_axis_of(const Node&);
/// Returns what Node::contiguous_axis of a node of kind view is to be, by its operand's.
int8_t contiguous_axis_of_view(const Node& view);
/// Returns that of a value whose strides are given.
int8_t minor_of_strides(const Shape&, const Dims& strides);

/// The extents that are not 1, in order.
Dims without_ones(const Shape&);

/// Values of a reshape's `axes` attribute: {kUnitReshape} when only dimensions of extent 1 come and go (an
/// index map for any layout), which record() finds; {kLeadingKept, n} when the first n dimensions stay what
/// they are whatever the extents, which only whoever records it knows; {} otherwise.
inline constexpr int64_t kUnitReshape = 1, kLeadingKept = 2;
inline bool is_unit_reshape(const Node& n) {
  return n.op == Op::reshape && !n.axes.empty() && n.axes[0] == kUnitReshape;
}
/// How many leading dimensions are kept, of a reshape that is not a unit one.
inline int leading_kept(const Node& n) {
  return n.op == Op::reshape && n.axes.size() == 2 ? static_cast<int>(n.axes[1]) : 0;
}

}  // namespace lazy::jit
