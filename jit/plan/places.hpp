// Follows a packed buffer's dimensions along a path: which dimension of the buffer each dimension at the
// other end is, whatever the extents. Behind `permute(x, {1, 0})`, say, dimension 0 is the buffer's
// dimension 1.
#pragma once
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Stands for a place where the dimension walks a part of one of the buffer's, or several of them at once.
inline constexpr int64_t kPart = -1;

/// Holds the places of the dimensions at the end of a path. Dimensions of extent 1 don't count, on either
/// side: a place is the position of a source's dimension among those whose extent is not 1.
struct Places {
  /// By dimension at the end of the path: 1 + the place of the source's dimension that it walks completely
  /// and in order; 0 if it does not move through the source; kPart otherwise.
  Dims of;
  int source = 0;       // the source's extents other than 1
  int64_t indexed = 0;  // likewise, of the axis that a gather on the way reads at an index of
  bool whole = true;    // no view on the way takes only a part, or some of it twice
};

/// Says what a reshape that is no index map makes of places.
enum class AtReshape {
  packed,   // its operand is packed memory, or one value: the operand's dimensions are counted from there on
  leading,  // dimensions keep their place only if nothing was done to the source before
};

/// Returns the places of a source of shape `source` at the end of `path`. If `only` is not -1, that dimension
/// of the source alone is followed, and its place is 1.
Places places_along(const Program&, const CapturedGraph&, uint32_t path, const Shape& source, AtReshape,
                    int64_t only = -1);

}  // namespace lazy::jit
