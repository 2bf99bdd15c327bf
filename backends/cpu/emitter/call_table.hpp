// Lists the functions that generated code calls, in one table that it reaches through the context pointer, so
// that the code holds no address.
#pragma once
#include "backends/vector/helpers.hpp"

namespace lazy::cpu_backend {

/// Numbers the positions in the table: those of the lane helpers, then these.
enum class Call : vir::HelperId {
  /// Does a separate launch: x are the arguments of a map that copies, n says what is known of them
  /// (transpose.hpp); out is an int32: 1 if the launch has been done.
  copy_transposed = static_cast<vir::HelperId>(vir::Helper::count_),
};
/// Returns the table that word ArgLayout::kContext of a launch points to.
extern const vir::HelperFn kCalls[];

}  // namespace lazy::cpu_backend
