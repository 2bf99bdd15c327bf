// Marks the sizes that a program may rely on. Sizes are arguments of compiled programs, so as a rule nothing
// needs a mark: use these for a program that serves one size alone, or for LAZY_DYNAMIC=never except for one
// dimension.
#pragma once
#include <cstdint>
#include <limits>

#include "lazy/core/arg.hpp"

namespace lazy {

/// Programs that read `x` from now on serve only its extent along `dim`: another extent is another program.
/// `dim` counts from the end if negative. Throws IndexError.
void mark_static(const Arg& x, IntegerArg dim);

/// Programs that read `x` from now on serve every extent along `dim`, also under LAZY_DYNAMIC=never. An
/// extent outside [min, max] throws ShapeError, and `x` is not marked: marks are part of a program's key, so
/// no value outside its bounds reaches a program of marked ones. Values made from `x` are not marked. Throws
/// IndexError.
void mark_dynamic(const Arg& x, IntegerArg dim, IntegerArg min = 0,
                  IntegerArg max = std::numeric_limits<int64_t>::max());

}  // namespace lazy
