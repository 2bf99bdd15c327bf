// Finds values that are computed late: by a flush of their own, though an earlier one of each iteration could
// have computed them as well, or after they waited through many iterations.
#pragma once
#include "jit/flush/reviews.hpp"

namespace lazy::jit {

/// Finds two flushes of each iteration between which nothing was recorded: one would do. `share` of the wall
/// time goes into the program's flushes; below 0: not known.
void tell_of_two_flushes(const Reviewed&, double share);

/// Notes which lines' values the program's flushes make.
void note_makers(const Reviewed&);
/// Looks at a graph for which the flush at this line is about to compile. True if it has a chain of values
/// that waited through the flushes that make what each of its steps reads: so its length differs from time to
/// time. The third time at a line a hint says so.
bool is_late_chain(const Site&, const CapturedGraph&);
/// Forgets all that was noted.
void forget_late_values();

}  // namespace lazy::jit
