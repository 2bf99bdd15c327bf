#include "lazy/autograd/call_rules.hpp"

#include <algorithm>

namespace lazy::detail {

Rule rule_of_call(std::string_view name) {
  for (const auto rows : {indexed_call_rules(), linear_call_rules()})
    if (const auto at = std::ranges::find(rows, name, &CallRow::name); at != rows.end()) return at->rule;
  return nullptr;
}

}  // namespace lazy::detail
