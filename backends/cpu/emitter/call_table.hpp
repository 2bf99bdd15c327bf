// The functions that generated code calls, in one table that it reaches through the context pointer, so that
// the code holds no address.
#pragma once
#include "backends/vector/helpers.hpp"

namespace lazy::cpu_backend {

/// Positions in the table: those of the lane helpers, then these.
enum class Call : vir::HelperId {
  /// A launch of its own: x are the arguments of a map that copies, n says what is known of them
  /// (transpose.hpp); out, an int32: whether the launch has been done.
  copy_transposed = static_cast<vir::HelperId>(vir::Helper::count_),
};
/// Returns the table that word ArgLayout::kContext of a launch points to.
extern const vir::HelperFn kCalls[];

}  // namespace lazy::cpu_backend
