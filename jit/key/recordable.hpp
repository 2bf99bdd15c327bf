// Checks the rules that every recorded op obeys: dtypes, extents, attributes. lazy/ checks arguments and
// records valid ops; graphs that come from elsewhere (jit/compile/rebuild.hpp) are checked against these.
#pragma once
#include "jit/calls/call.hpp"
#include "jit/graph/node.hpp"

namespace lazy::jit {

/// True if the node could have been recorded with its operands: passes and lowering rely on that.
bool recordable(const Node&);
/// Finds the dtype and shape of a call's output from the call's operands. False if there is no such output,
/// or the operands don't fit.
bool meta_of_part(const Node& part, Meta&);

}  // namespace lazy::jit
