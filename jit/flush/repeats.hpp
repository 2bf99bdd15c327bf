// Finds values that each flush of a loop computes again from the same inputs and numbers: they are worth
// computing once, before the loop. Looks at a program's runs 8, 9, 16, 17 and 32, so that what merely recurs
// every second or third time is not taken for the same.
#pragma once
#include "jit/flush/reviews.hpp"

namespace lazy::jit {

/// Gives the hint if it is due. `share` of the wall time goes into the program's flushes; below 0: not known.
void tell_of_repeats(const Reviewed&, double share);
/// Forgets what was seen of programs, which are gone.
void forget_repeats();

}  // namespace lazy::jit
