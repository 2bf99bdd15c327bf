// Which dimensions of a packed buffer the dimensions at the other end of a path are, whatever the extents.
#pragma once
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Instead of a place: a part of a dimension, or several at once.
inline constexpr int64_t kPart = -1;

/// By extent other than 1 of what a path leads to: 1 + the place, among those other than 1, of the source's
/// dimension that it walks whole and in order; 0 if it does not move; kPart otherwise.
struct Places {
  Dims of;
  int source = 0;     // the source's extents other than 1
  bool whole = true;  // no view on the way takes only a part, or some of it twice
};

/// What a reshape that is no index map makes of places.
enum class AtReshape {
  packed,   // its operand is packed memory, or one value: its own dimensions are counted from there on
  leading,  // dimensions keep their place only if nothing was done to the source before
};

/// `only`: a dimension of the source that alone is looked at (its place is 1); -1: all are.
Places places_along(const Program&, const CapturedGraph&, uint32_t path, const Shape& source, AtReshape,
                    int64_t only = -1);

}  // namespace lazy::jit
