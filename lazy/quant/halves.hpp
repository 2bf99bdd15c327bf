// Reads integers of 4 bits, two in a byte. Internal to lazy/.
#pragma once
#include "lazy/ops/recorder.hpp"

namespace lazy::quant::detail {

/// Returns the lower and upper halves of bytes (..., 1, 16), (..., 2, 16): the integers of a block of
/// pack_4().
lazy::detail::Handle halves_of(const lazy::detail::Recorder&, const lazy::detail::Handle& bytes);

}  // namespace lazy::quant::detail
