// Reads several axes of a tensor at computed positions, and pads with it. Internal to lazy/.
#pragma once
#include <vector>

#include "lazy/formula/formula.hpp"
#include "lazy/nn/functional/padding.hpp"

namespace lazy::detail {

/// Reads x at positions along neighbouring axes, of which `first` is the first: position[a] has an integer in
/// [0, extent) for axis first + a. They have x's rank and broadcast to the result.
Term at(const Term& x, int first, const std::vector<Term>& position);

/// Returns an integer dtype that positions in x fit, and `extent` too.
DType position_type(const Term& x, int64_t extent);
/// Returns 0, 1, ... extent - 1 along an axis of x, with extent 1 along the others, in that dtype.
Term positions(const Term& x, int axis, int64_t extent);

/// Adds `before` and `after` elements, which may be negative, to the axes that begin at `first`.
Term padded(const Term& x, int first, const Dims& before, const Dims& after, PadMode,
            const ScalarNumber& value);

}  // namespace lazy::detail
