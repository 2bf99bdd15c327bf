// Compares values for LAZY_VERIFY, and runs recipes apart from their graph.
#pragma once
#include <vector>

#include "jit/backend/backend.hpp"
#include "jit/graph/node.hpp"

namespace lazy::jit {

/// Returns the relative size of one rounding of a type; 0 for an exact one.
double unit_of(DType);

/// Returns an input's value in memory that `backend` can read: itself, or a copy of all its memory, with its
/// layout.
Handle in_reach_of(Backend& backend, const Handle&);

/// Holds the largest difference, in units of the type's rounding, relative to the larger of the element and
/// the tensor's magnitude.
struct Difference {
  double units = 0;
  int64_t at = -1;  // position of the element, row-major; -1: no difference
  double got = 0, expected = 0;
};
Difference compare(const Node& got, const Node& expected, double unit);

/// Makes a node with the same recipe for other operands, in no graph. Operands that are values are its
/// inputs.
Node* new_recipe(const Node& recipe, const std::vector<Handle>& operands);
/// Runs the recipe of one node on given operand values, wherever they are, and returns the result as a new
/// node.
Handle run_alone(const Node& recipe, const std::vector<Handle>& operands, Backend&);
/// Runs likewise one output of a call, on the call's operands.
Handle run_part_alone(const Node& part, const std::vector<Handle>& operands, Backend&);

}  // namespace lazy::jit
