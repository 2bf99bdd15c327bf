#include "jit/plan/places.hpp"

#include <algorithm>

#include "jit/graph/indexed.hpp"
#include "jit/plan/bind.hpp"

namespace lazy::jit {
namespace {

/// Numbers the extents other than 1: 1, 2, ...
Dims counted(const Shape& s, int& count) {
  Dims places(s.size(), 0);
  count = 0;
  for (int i = 0; i < s.size(); ++i)
    if (s[i] != 1) places[i] = ++count;
  return places;
}

Layout reshaped(const Layout& l, const Shape& to, AtReshape rule, int& source) {
  Layout next{to, Dims(to.size(), 0), 0};
  if (rule == AtReshape::packed) {
    if (std::any_of(l.strides.begin(), l.strides.end(), [](int64_t s) { return s != 0; }))
      next.strides = counted(to, source);
    return next;
  }
  // Packed memory stays packed, and leading dimensions that keep their extent keep their index.
  bool packed = true;
  int64_t place = 0;
  for (int i = 0; i < l.shape.size(); ++i)
    if (l.shape[i] != 1) packed &= l.strides[i] == ++place;
  packed &= place == source;
  next.strides = counted(to, source);
  if (!packed)
    for (int64_t& s : next.strides)
      if (s != 0) s = kPart;
  return next;
}

/// Marks the dimensions of `view`, a slice or window of `in`, that take a part of one or move in several at
/// once.
bool mark_parts(const Node& view, const Layout& in, Layout& out) {
  bool whole = true;
  const auto part = [&](int of, int dim) { out.strides[dim] = in.strides[of] == 0 ? 0 : kPart; };
  if (view.op == Op::slice)
    for (int i = 0; i < view.shape.size(); ++i) {
      if (view.axes[i]) out.strides[i] = in.strides[i];
      else part(i, i), whole = false;
    }
  if (view.op == Op::window)
    for (int i = 0; i < view.axes.size(); ++i) {
      const auto axis = static_cast<int>(view.axes[i]);
      part(axis, axis), part(axis, in.shape.size() + i), whole = false;
    }
  return whole;
}

}  // namespace

Places places_along(const Program& p, const CapturedGraph& f, uint32_t path, const Shape& source,
                    AtReshape rule, int64_t only) {
  Places r;
  Layout l{source, counted(source, r.source), 0};
  for (int i = 0; only >= 0 && i < source.size(); ++i) l.strides[i] = source[i] != 1 && i == only;
  l = follow(p, path, std::move(l), f, [&](const Node& n, const Layout& in, Layout& out) {
    if (n.op == Op::reshape && !is_unit_reshape(n)) {
      out = reshaped(in, n.shape, rule, r.source);
    } else {
      if (n.op == Op::gather) r.indexed = in.strides[indexed_of(n).axis];
      view_layout(n, in, out);
      r.whole &= mark_parts(n, in, out);
    }
  });
  for (int i = 0; i < l.shape.size(); ++i)
    if (l.shape[i] != 1) r.of.push_back(l.strides[i]);
  return r;
}

}  // namespace lazy::jit
