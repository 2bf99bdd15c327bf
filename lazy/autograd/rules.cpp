#include "lazy/autograd/rules.hpp"

#include <array>

#include "lazy/autograd/parts.hpp"
#include "lazy/indexing/recording.hpp"

namespace lazy::detail {
namespace {

using Rules = std::array<Rule, jit::kOpCount>;

Rules all_rules() {
  Rules rules{};
  for (const auto rows : {pointwise_rules(), view_rules(), reduction_rules(), indexed_rules()})
    for (const RuleRow& r : rows) rules[static_cast<size_t>(r.op)] = r.rule;
  return rules;
}

/// Returns the sum over the axes along which a value of this shape was broadcast.
Term summed_to(const Shape& shape, const Term& gradient) {
  const int more = gradient.rank() - shape.size();
  Dims axes;
  for (int a = 0; a < gradient.rank(); ++a)
    if (a < more || (shape[a - more] == 1 && gradient.shape()[a] != 1)) axes.push_back(a);
  return axes.empty() ? gradient : reshape(sum(gradient, axes), shape);
}

}  // namespace

Rule rule_of(Op op) {
  static const Rules* const rules = new Rules(all_rules());
  return (*rules)[static_cast<size_t>(op)];
}

Handle Gradients::of(const Handle& value) {
  if (auto parts = parts_.extract(value.get())) {
    const Site s = parts.mapped().back().site;
    add(value, put_together(value, std::move(parts.mapped())), s);
  }
  const auto at = sums_.find(value.get());
  return at == sums_.end() ? Handle() : at->second;
}

void Gradients::add(const Handle& value, const Handle& gradient, const Site& s) {
  Handle& sum = sums_[value.get()];
  sum = sum ? binary("gradient", Op::add, sum, gradient, s) : gradient;
}

Differentiation::Differentiation(const char* op_name, const RecordedOp& o, const std::vector<Handle>& of_it,
                                 Gradients& gradients)
    : Formula(op_name, o.site), op(o), results(of_it), gradients_(gradients) {}

Term Differentiation::g(size_t result) const {
  const Handle h = gradients_.of(results[result]);
  return h ? term(h) : zeros_like(y(result));
}

Term Differentiation::added_at(size_t operand, const Term& values, const Handle& positions, int axis) const {
  return term(store_at(name, zeros_like(x(operand)).handle(), positions, values.handle(), axis, Combine::add,
                       Bounds::mask, site));
}

void Differentiation::to_part(size_t operand, const Dims& start, const Dims& step, const Term& g) const {
  const Handle& x = op.operands[operand];
  if (wants(operand) && numel(g.shape()) > 0)
    gradients_.add_part(x, {start, step, g.as(x->dtype).handle(), site});
}

void Differentiation::add(size_t operand, const Term& gradient) const {
  const Handle& x = op.operands[operand];
  gradients_.add(x, summed_to(x->shape, gradient).as(x->dtype).handle(), site);
}

}  // namespace lazy::detail
