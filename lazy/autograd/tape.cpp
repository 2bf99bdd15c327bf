#include "lazy/autograd/tape.hpp"

#include <algorithm>

#include "lazy/autograd/rules.hpp"

namespace lazy::detail {

thread_local constinit int tapes_paused = 0;

bool Tape::any_depends(std::span<const Handle* const> operands) const {
  return tapes_paused == 0 &&
         std::any_of(operands.begin(), operands.end(), [&](const Handle* h) { return depends(*h); });
}

void Tape::keep(Taped t) {
  for (const Handle& r : t.results)
    if (r && is_float(r->dtype)) depends_.insert(r.get());
  ops_.push_back(std::move(t));
}

void Tape::recorded(const Recorded& r) {
  if (!is_float(r.result->dtype) || !any_depends(r.operands) || !rule_of(r.op)) return;
  Taped t{r.op, nullptr, {}, r.attributes, {r.result}, r.site};
  for (const Handle* h : r.operands) t.operands.push_back(*h);
  keep(std::move(t));
}

void Tape::recorded_call(const RecordedCall& r) {
  if (!any_depends(r.operands)) return;
  Taped t{Op::call, &r.spec, {}, {}, {r.outputs.begin(), r.outputs.end()}, r.site};
  for (const Handle* h : r.operands) t.operands.push_back(*h);
  keep(std::move(t));
}

void Tape::transferred(const Handle& from, const Handle& to, const Site& s) {
  const Handle* const operand = &from;
  if (any_depends({&operand, 1})) keep({Op::input, nullptr, {from}, {}, {to}, s});
}

}  // namespace lazy::detail
