#include "lazy/complex/rules.hpp"

#include <array>

#include "jit/built_in/compress.hpp"
#include "jit/built_in/concat.hpp"
#include "jit/calls/call.hpp"
#include "lazy/core/operands.hpp"

namespace lazy::detail {

PlaneRule plane_rule_of(Op op) {
  static const auto all = [] {
    std::array<PlaneRule, jit::kOpCount> by_op{};
    for (const auto rows : {plane_rules_of_arithmetic(), plane_rules_of_functions(), plane_rules_of_places(),
                            plane_rules_of_reductions()})
      for (const PlaneRuleRow& row : rows) by_op[static_cast<size_t>(row.op)] = row.rule;
    return by_op;
  }();
  return all[static_cast<size_t>(op)];
}

namespace {

DType complex_dtype(std::span<const Handle* const> operands, DType result) {
  for (const Handle* h : operands)
    if (is_complex((*h)->dtype)) return (*h)->dtype;
  return result;
}

}  // namespace

Handle record_on_planes(Op op, std::span<const Handle* const> operands, DType t, const Shape& shape,
                        const Site& s, const jit::Attributes& attributes, const char* name) {
  if (!name) name = jit::name_of(op);
  const PlaneRule rule = plane_rule_of(op);
  if (!rule) need_real(name, complex_dtype(operands, t), s);
  return rule({op, operands, t, shape, s, attributes, name});
}

namespace {

/// True for calls that move elements and compute nothing of them.
bool moves_elements(const jit::CallSpec& spec) {
  return &spec.definition() == &jit::calls::kConcat || &spec.definition() == &jit::calls::kCompress;
}

/// Records the call of one of the planes of each complex operand.
std::vector<Handle> call_on_one_plane(const jit::CallSpec& spec, std::span<const Handle* const> operands,
                                      Handle (*plane)(const Handle&), const Site& s) {
  std::vector<Handle> planes;
  for (const Handle* h : operands) planes.push_back(is_complex((*h)->dtype) ? plane(*h) : *h);
  return detail::record_call(spec, pointers_to(planes), s);
}

}  // namespace

std::vector<Handle> call_on_planes(const jit::CallSpec& spec, std::span<const Handle* const> operands,
                                   const Site& s) {
  if (!moves_elements(spec))
    need_real(jit::Purpose::current() ? jit::Purpose::current() : spec.name(),
              complex_dtype(operands, complex64), s);
  std::vector<Handle> all = call_on_one_plane(spec, operands, jit::real_plane, s);
  const std::vector<Handle> im = call_on_one_plane(spec, operands, jit::imaginary_plane, s);
  for (size_t i = 0; i < all.size(); ++i) all[i] = jit::complex(all[i], im[i], s);
  return all;
}

}  // namespace lazy::detail
