#include "lazy/core/spelled.hpp"

#include <cstring>

namespace lazy::detail {
namespace {
constinit thread_local const Spelled* innermost_spelling = nullptr;
}

Spelled::Spelled(const char* function, const char* typed) noexcept
    : function_(function), typed_(typed), outer_(innermost_spelling) {
  innermost_spelling = this;
}
Spelled::~Spelled() { innermost_spelling = outer_; }

const char* as_typed(const char* function) noexcept {
  for (const Spelled* s = innermost_spelling; s; s = s->outer_)
    if (std::strcmp(function, s->function_) == 0) function = s->typed_;
  return function;
}

}  // namespace lazy::detail
