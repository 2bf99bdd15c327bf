// Describes loads and stores at a computed index: what happens outside of an axis, and how a store combines.
#pragma once
#include <cstdint>

#include "jit/core/op.hpp"

namespace lazy {

/// Says what an index means that is not in [0, n), n being the axis' extent.
enum class Bounds : uint8_t {
  check,  // -n to -1 count from the end; others throw IndexError
  wrap,   // the index modulo n
  clip,   // the nearest end
  mask,   // no element: reading gives 0, writing does nothing
  strict  // all throw IndexError, those below 0 too
};

/// Says what becomes of an element that is written to.
enum class Combine : uint8_t { set, add, multiply, min, max };

namespace jit {

/// Holds the attributes of a gather or scatter node.
struct Indexed {
  int axis = 0;
  Bounds bounds = Bounds::check;
  Combine combine = Combine::set;
};
/// True if an index out of range is an error.
constexpr bool may_throw(Bounds b) { return b == Bounds::check || b == Bounds::strict; }

/// Returns the pointwise op by which a store combines; cast if it replaces.
constexpr Op combining_op(Combine c) {
  constexpr Op ops[] = {Op::cast, Op::add, Op::multiply, Op::minimum, Op::maximum};
  return ops[static_cast<int>(c)];
}

}  // namespace jit
}  // namespace lazy
