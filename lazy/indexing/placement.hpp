// Says where the indices of x(...) lead, reads there and writes there. Internal to lazy/.
//
// Integers and slices cut a strided region out of the base. Tensors and lists among the indices ("computed"
// ones) then select along the axes that they stand for: these axes, and all between them, are one axis of the
// region, and one index along it, made of all of them, loads or stores.
#pragma once
#include <span>

#include "jit/graph/indexed.hpp"
#include "lazy/core/build.hpp"
#include "lazy/indexing/indexing.hpp"

namespace lazy::detail {

/// Describes computed indices. The region, seen as (outer..., merged, inner...), is read at `index`; that
/// gives (outer..., index' axes..., inner...).
struct Computed {
  Handle index;                   // positions along the merged axis
  Bounds bounds = Bounds::check;  // `clip` where all are known to be in range
  Bounds stores = Bounds::check;  // likewise of writing: `check` where another check has to come first
  Shape outer, inner;             // extents before and after the merged axis
  int64_t merged = 1;             // elements of the merged axis
  int moved = 0;                  // how many of the index' first axes come before `outer` in the result
};

using Indices = std::span<const Index* const>;

/// Returns where the indices lead. IndexError for an integer out of range and for too many indices,
/// ShapeError for masks and tensors whose shapes don't fit, DtypeError for a tensor that is neither of
/// integers nor of bool. A mask among the indices is counted: that computes what is pending.
Region place(const char* op, const Handle& base, Indices, const Site&);
Handle read_region(const char* op, const Handle& base, const Region&, const Site&);
/// Returns a value as it is stored: of the base's dtype, broadcast to the selected shape. Leading axes of
/// extent 1 don't count. DtypeError for a value of a higher kind, ShapeError where it does not broadcast.
Handle fitting_value(const char* op, const Arg&, const Handle& base, const Shape& selected);
/// Returns the base with a value written, or combined with what is there. The value broadcasts to the
/// region's shape (ShapeError).
Handle written_region(const char* op, const Handle& base, const Region&, const Arg& value,
                      Combine = Combine::set);
/// Returns the mask with an axis of extent 1 for each axis of the base that it does not cover. DtypeError
/// unless it is of bool, ShapeError unless it covers the base's axes from `axis` on.
Handle aligned_mask(const char* op, const Handle& base, const Handle& mask, int axis, const Site&);

}  // namespace lazy::detail
