// Records what indexing is made of: loads and stores at computed positions, and the rows that a mask selects.
// Internal to lazy/.
#pragma once
#include "jit/graph/indexed.hpp"
#include "lazy/core/build.hpp"

namespace lazy::detail {

/// Returns the index as a value; DtypeError unless it is of integers.
Handle index_of(const char* op, Arg& index);
/// Throws IndexError if an axis of `extent` elements has nothing that a position could name.
void check_any(const char* op, int64_t extent, Bounds, const Site&);

/// Loads from x at an index along an axis. Their shapes are equal except for x's extent of the axis.
Handle load_at(const char* op, const Handle& x, const Handle& index, int axis, Bounds, const Site&);
/// Throws DtypeError for a dtype that does not combine so.
void check_combines(const char* op, const Handle& x, Combine, const Site&);
/// Stores values, of the index' shape and x's dtype, into x at an index along an axis. DtypeError for a dtype
/// that does not combine so.
Handle store_at(const char* op, const Handle& x, const Handle& index, const Handle& values, int axis, Combine,
                Bounds, const Site&);
/// Adds dimensions of extent 1 before and after.
Handle padded(const Handle&, int before, int after, const Site&);

/// Returns positions as int64, from 0 on, of which negative ones count from the end of `extent` elements (at
/// least 1), unless the rule is strict. One out of range throws IndexError when this is computed.
Handle counted_from_start(const char* op, const Handle& positions, int64_t extent, const Handle& like,
                          const Site&, Bounds = Bounds::check);

/// Returns zeros of the shape of a condition, which throw Error when they are computed where it is false:
/// `otherwise`, a text of the program's such as "log: x is not positive".
Handle zeros_if(const char* otherwise, DType, const Handle& condition, const Site&);

/// Returns how many elements of a mask are true. Computes what is pending and needed for that.
int64_t count_of(const char* op, const Handle& mask, const Site&);
/// Returns the rows of x, (n, ...), where the mask, (n), is true: `count` ones.
Handle selected_rows(const char* op, const Handle& x, const Handle& mask, int64_t count, const Site&);
/// Returns where a mask of one dimension is true, int64, (count).
Handle positions_of(const char* op, const Handle& mask, int64_t count, const Site&);

}  // namespace lazy::detail
