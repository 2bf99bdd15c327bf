// Lists the rules by which ops of complex values are recorded as ops of their planes. An op that has none
// throws: no complex number loses its imaginary part unless astype() was called. Internal to lazy/.
#pragma once
#include <span>

#include "lazy/complex/number.hpp"

namespace lazy::detail {

/// Describes an op whose operands, or result, are complex; `name` is what errors begin with.
struct PlaneOp {
  Op op;
  std::span<const Handle* const> operands;
  DType dtype;  // of the result, by the op's row; a rule's result may be real
  const Shape& shape;
  const Site& site;
  const jit::Attributes& attributes;
  const char* name;

  const Handle& operand(size_t i) const { return *operands[i]; }
};
using PlaneRule = Handle (*)(const PlaneOp&);
struct PlaneRuleRow {
  Op op;
  PlaneRule rule;
};

/// Returns the op's rule; null if complex numbers have no such op.
PlaneRule plane_rule_of(Op);

// The rows, by families.
std::span<const PlaneRuleRow> plane_rules_of_arithmetic();
std::span<const PlaneRuleRow> plane_rules_of_functions();
std::span<const PlaneRuleRow> plane_rules_of_places();
std::span<const PlaneRuleRow> plane_rules_of_reductions();

}  // namespace lazy::detail
