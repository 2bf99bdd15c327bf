#include "lazy/core/spelled.hpp"

#include <cstring>

namespace lazy::detail {

const char* as_typed(const char* function) noexcept {
  for (const Spelled* s = Spelled::innermost_; s; s = s->outer_)
    if (std::strcmp(function, s->function_) == 0) function = s->typed_;
  return function;
}

}  // namespace lazy::detail
