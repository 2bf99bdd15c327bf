// Implements LAZY_CHECK_NAN: each op runs when it is recorded, and where its result has a NaN that no operand
// had, the op is noted as its origin. Ops that pass the NaN on pass its origin on. Who reads a value with a
// NaN that has an origin is told. So a NaN that is masked away, as where() does, is none. One that came in
// with data has the line of the input for its origin, for whoever reads what was computed from that; of the
// input itself, and of a NaN that the user wrote as a number, nobody is told.
#pragma once
#include <span>

#include "jit/graph/node.hpp"
#include "support/config.hpp"

namespace lazy::jit::nan_origin {

inline bool wanted() { return config::get().check_nan; }
/// Notes where the NaNs of the op's result come from. Computes it.
void note(const char* op, const Handle& result, std::span<const Handle* const> operands);
/// Notes that the node is a value that no op computed.
void forget(const Node*);
/// Throws Error at the site if `data`, the value's elements in row-major order, has a NaN with an origin.
void look(const Handle& value, const void* data, const Site&);

}  // namespace lazy::jit::nan_origin
