#include "jit/graph/layout.hpp"

#include "jit/graph/indexed.hpp"

namespace lazy::jit {

Layout Layout::contiguous(const Shape& shape, int64_t offset) {
  Layout l{shape, contiguous_strides(shape), offset};
  for (int i = 0; i < shape.size(); ++i)
    if (shape[i] == 1) l.strides[i] = 0;
  return l;
}

bool Layout::is_contiguous() const {
  if (numel(shape) == 0) return true;
  int64_t expected = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

Layout layout_of(const Node& n) {
  if (n.contiguous) return Layout::contiguous(n.shape, n.offset);
  Layout l{n.shape, n.strides, n.offset};
  for (int i = 0; i < n.shape.size(); ++i)
    if (n.shape[i] == 1) l.strides[i] = 0;
  return l;
}

Layout broadcast_layout(const Layout& in, const Shape& shape) {
  Layout out{shape, Dims(shape.size(), 0), in.offset};
  const int lead = shape.size() - in.shape.size();
  for (int i = 0; i < in.shape.size(); ++i)
    if (in.shape[i] != 1) out.strides[lead + i] = in.strides[i];
  return out;
}

// Splits and merges dimensions: each run of old dimensions that is evenly spaced is split into new ones.
static bool reshape_layout(const Layout& in, const Shape& shape, Layout& out) {
  out = Layout{shape, Dims(shape.size(), 0), in.offset};
  if (numel(shape) == 0) return true;
  int old = in.shape.size() - 1, now = shape.size() - 1;
  while (old >= 0) {
    if (in.shape[old] == 1) {
      --old;
      continue;
    }
    const int64_t base = in.strides[old];
    int64_t run = in.shape[old];  // elements of the evenly spaced run that ends here
    while (old > 0 && (in.shape[old - 1] == 1 || in.strides[old - 1] == base * run)) run *= in.shape[--old];
    --old;
    int64_t covered = 1;
    for (; now >= 0 && (covered < run || shape[now] == 1); --now) {
      if (shape[now] != 1) out.strides[now] = base * covered;
      covered *= shape[now];
    }
    if (covered != run) return false;
  }
  return true;
}

/// Returns how a gather reads its operand 0, without the movement along the axis.
static Layout gathered_layout(const Node& gather, const Layout& in) {
  Layout out{gather.shape, in.strides, in.offset};
  out.strides[indexed_of(gather).axis] = 0;
  for (int i = 0; i < out.shape.size(); ++i)
    if (out.shape[i] == 1) out.strides[i] = 0;
  return out;
}

bool view_layout(const Node& view, const Layout& in, Layout& out) {
  const int rank = view.shape.size();
  switch (view.op) {
    case Op::permute:
      out = Layout{view.shape, Dims(rank, 0), in.offset};
      for (int i = 0; i < rank; ++i) out.strides[i] = in.strides[static_cast<int>(view.axes[i])];
      return true;
    case Op::slice:
      out = Layout{view.shape, Dims(rank, 0), in.offset};
      for (int i = 0; i < rank; ++i) {
        if (view.shape[i] != 0) out.offset += view.ints[i] * in.strides[i];
        if (view.shape[i] != 1) out.strides[i] = view.steps[i] * in.strides[i];
      }
      return true;
    case Op::broadcast: out = broadcast_layout(in, view.shape); return true;
    case Op::gather: out = gathered_layout(view, in); return true;
    case Op::window: {
      out = Layout{view.shape, in.strides, in.offset};
      for (int i = 0; i < view.axes.size(); ++i) {
        const int axis = static_cast<int>(view.axes[i]);
        out.strides[axis] *= view.ints[i];
        out.strides.push_back(in.strides[axis] * view.steps[i]);
      }
      for (int i = 0; i < rank; ++i)
        if (view.shape[i] == 1) out.strides[i] = 0;
      return true;
    }
    default: break;  // reshape
  }
  if (!is_unit_reshape(view)) return reshape_layout(in, view.shape, out);
  out = Layout{view.shape, Dims(rank, 0), in.offset};
  int from = 0;
  for (int i = 0; i < rank; ++i) {
    if (view.shape[i] == 1) continue;
    while (in.shape[from] == 1) ++from;
    out.strides[i] = in.strides[from++];
  }
  return true;
}

int contiguous_axis_of(const Node& n) {
  if (n.contiguous_axis != Node::kPackedAxis) return n.contiguous_axis;
  int i = n.shape.size() - 1;
  while (i >= 0 && n.shape[i] == 1) --i;
  return i < 0 ? int{Node::kNoContiguousAxis} : i;
}

int8_t contiguous_axis_of_view(const Node& view) {
  const Node& base = *view.operand[0];
  const int of_base = contiguous_axis_of(base);
  int axis = Node::kNoContiguousAxis;
  switch (view.op) {
    case Op::permute:
      for (int i = 0; i < view.shape.size(); ++i)
        if (view.axes[i] == of_base) axis = i;
      break;
    case Op::slice:
      if (of_base >= 0 && view.steps[of_base] == 1) axis = of_base;
      break;
    case Op::broadcast:
      if (of_base >= 0) axis = of_base + view.shape.size() - base.shape.size();
      break;
    case Op::window:
      axis = of_base;
      for (int i = 0; i < view.axes.size(); ++i)
        if (view.axes[i] == of_base && view.ints[i] != 1) axis = Node::kNoContiguousAxis;
      break;
    default:  // reshape
      if (!is_unit_reshape(view)) return Node::kPackedAxis;
      for (int i = 0, from = 0; i < view.shape.size(); ++i) {
        if (view.shape[i] == 1) continue;
        while (base.shape[from] == 1) ++from;
        if (from++ == of_base) axis = i;
      }
  }
  return static_cast<int8_t>(axis);
}

int8_t minor_of_strides(const Shape& shape, const Dims& strides) {
  for (int i = shape.size() - 1; i >= 0; --i)
    if (shape[i] != 1 && strides[i] == 1) return static_cast<int8_t>(i);
  return Node::kNoContiguousAxis;
}

Dims without_ones(const Shape& s) {
  Dims r;
  for (int64_t d : s)
    if (d != 1) r.push_back(d);
  return r;
}

}  // namespace lazy::jit
