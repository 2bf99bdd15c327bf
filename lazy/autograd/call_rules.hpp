// Lists the rules of calls (jit/calls/), one row a call; each file has the rows of one family. Internal to
// lazy/.
#pragma once
#include <span>

#include "jit/calls/call.hpp"
#include "lazy/autograd/rules.hpp"

namespace lazy::detail {

struct CallRow {
  const jit::CallDefinition* of;
  Rule rule;
};
std::span<const CallRow> indexed_call_rules();
std::span<const CallRow> linear_call_rules();
std::span<const CallRow> fourier_call_rules();

}  // namespace lazy::detail
