// Computes where the elements of a strided value lie, and how a view changes that. Strides and offsets are in
// elements.
#pragma once
#include "jit/graph/node.hpp"

namespace lazy::jit {

struct Layout {
  Shape shape;
  Dims strides;  // 0 for dimensions of extent 1
  int64_t offset = 0;

  static Layout contiguous(const Shape&, int64_t offset = 0);
  bool is_contiguous() const;
};

/// Returns the layout of a ready node's value.
Layout layout_of(const Node&);
/// Computes the layout of `view` (a node of kind view) when its operand has layout `in`. False when no
/// strides can express it (a reshape of values that are not packed). For a gather: operand 0's layout as the
/// result's index moves over it, at index 0 of the axis.
bool view_layout(const Node& view, const Layout& in, Layout& out);
/// Returns `in` broadcast to `shape`, aligned at the right.
Layout broadcast_layout(const Layout& in, const Shape& shape);

/// Returns the axis of a node along which neighbours are side by side, by its recorded views, or
/// Node::kNoContiguousAxis. So it is the same whether and when the values in between were computed.
int contiguous_axis_of(const Node&);
/// Returns the Node::contiguous_axis of a node of kind view, from its operand's.
int8_t contiguous_axis_of_view(const Node& view);
/// Returns the Node::contiguous_axis of a value with these strides.
int8_t minor_of_strides(const Shape&, const Dims& strides);

/// Returns the extents that are not 1, in order.
Dims without_ones(const Shape&);

inline bool is_unit_reshape(const Node& n) {
  return n.op == Op::reshape && reshape_kind(n) == ReshapeKind::unit;
}
/// Returns how many leading dimensions stay as they are, in a reshape that is not a unit one.
inline int leading_kept(const Node& n) {
  return n.op == Op::reshape && reshape_kind(n) == ReshapeKind::leading_kept ? kept_dimensions(n) : 0;
}

}  // namespace lazy::jit
