// The rules that every recorded op keeps: dtypes, extents, attributes. lazy/ checks arguments and records
// what is right; graphs that come from elsewhere (jit/compile/rebuild.hpp) are held against these.
#pragma once
#include "jit/calls/call.hpp"
#include "jit/graph/node.hpp"

namespace lazy::jit {

/// Returns whether the node could have been recorded with its operands: what passes and lowering rely on.
bool recordable(const Node&);
/// Finds what a call's output is by what the call says of its operands. False if it is none, or they don't
/// fit.
bool meta_of_part(const Node& part, Meta&);

}  // namespace lazy::jit
