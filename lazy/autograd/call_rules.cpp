#include "lazy/autograd/call_rules.hpp"

#include <algorithm>

namespace lazy::detail {

Rule rule_of_call(const jit::CallDefinition& of) {
  for (const auto rows : {indexed_call_rules(), linear_call_rules(), fourier_call_rules()})
    if (const auto at = std::ranges::find(rows, &of, &CallRow::of); at != rows.end()) return at->rule;
  return nullptr;
}

}  // namespace lazy::detail
