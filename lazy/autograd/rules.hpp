// Declares the derivative of each op: how the gradient of its result goes on to its operands. One row an op
// (rules_*.cpp); composites need none, for they are made of ops. Internal to lazy/.
#pragma once
#include <unordered_map>
#include <unordered_set>

#include "lazy/autograd/derivation.hpp"
#include "lazy/formula/formula.hpp"

namespace lazy::jit {
struct CallDefinition;
}  // namespace lazy::jit

namespace lazy::detail {

/// Adds up gradients by value.
class Gradients {
 public:
  /// `wanted` are the values that depend on what is differentiated by.
  explicit Gradients(std::unordered_set<const jit::Node*> wanted) : wanted_(std::move(wanted)) {}
  /// Holds where a slice with positive steps was taken, and its gradient.
  struct Part {
    Dims start, step;
    Handle gradient;
    Site site;  // the user's line of the slice
  };

  /// Returns what was added for the value; an empty handle if nothing was.
  Handle of(const Handle& value);
  void add(const Handle& value, const Handle& gradient, const Site&);
  /// Adds the gradient of a part of the value. Parts are put together when the value's gradient is asked for:
  /// one pass over memory for all of them.
  void add_part(const Handle& value, Part part) { parts_[value.get()].push_back(std::move(part)); }
  void replace(const Handle& value, Handle gradient) { sums_[value.get()] = std::move(gradient); }
  /// Lets go of what was added for the value.
  void forget(const Handle& value) { sums_.erase(value.get()); }
  bool wants(const Handle& value) const { return value && wanted_.contains(value.get()); }

 private:
  std::unordered_map<const jit::Node*, Handle> sums_;
  std::unordered_map<const jit::Node*, std::vector<Part>> parts_;
  std::unordered_set<const jit::Node*> wanted_;
};

/// Gives a rule the op, its values as terms, and the gradient of its result. What the rule records goes by
/// the user's line of the op.
class Differentiation : public Formula {
 public:
  Differentiation(const char* name, const RecordedOp& op, const std::vector<Handle>& results,
                  Gradients& gradients);

  const RecordedOp& op;
  const std::vector<Handle>& results;  // one; of a call its outputs
  Term x(size_t operand) const { return term(op.operands[operand]); }
  Term y(size_t result = 0) const { return term(results[result]); }
  /// Returns the gradient of a result: zeros if nothing depends on it.
  Term g(size_t result = 0) const;
  /// True if the operand depends on what is differentiated by.
  bool wants(size_t operand) const { return gradients_.wants(op.operands[operand]); }
  /// Adds `gradient()` to what the operand has so far, summed over the axes along which it was broadcast. Not
  /// called for an operand that nobody wants.
  template <class F>
  void to(size_t operand, F&& gradient) const {
    if (wants(operand)) add(operand, gradient());
  }
  /// Adds the gradient of a part of the operand, likewise.
  void to_part(size_t operand, const Dims& start, const Dims& step, const Term& gradient) const;
  /// Adds a gradient likewise.
  void add(size_t operand, const Term& gradient) const;
  /// Adds `values` to zeros like the operand, at positions along an axis.
  Term added_at(size_t operand, const Term& values, const Handle& positions, int axis) const;
  Term zeros_like(const Term& t) const { return term(filled(0, t.handle()->dtype, t.shape(), t.handle())); }

 private:
  Gradients& gradients_;
};

using Rule = void (*)(const Differentiation&);

/// Returns the op's rule. Null: its result is not of floating point, or the op is a source.
Rule rule_of(Op);
/// Is the rule of recurrent layers' steps (lazy/formula/recurrent_steps.hpp).
void recurrent_rule(const Differentiation&);
/// Is that of their gradients.
void recurrent_backward_rule(const Differentiation&);
/// Returns the rule of a call; null if it has none, or has one in its definition (CallDefinition::vjp).
Rule rule_of_call(const jit::CallDefinition&);

struct RuleRow {
  Op op;
  Rule rule;
};
// Each file has the rows of one family.
std::span<const RuleRow> pointwise_rules();
std::span<const RuleRow> view_rules();
std::span<const RuleRow> reduction_rules();
std::span<const RuleRow> indexed_rules();

}  // namespace lazy::detail
