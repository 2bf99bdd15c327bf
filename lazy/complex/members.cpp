// Implements the member spellings: each passes its tensor and the user's line to the free function.
#include "lazy/core/members.hpp"
#include "lazy/complex/complex.hpp"

namespace lazy {

#define LAZY_MEMBER_OF_COMPLEX(result, name, function, site, parameters, ...) \
  LAZY_DEFINE_MEMBER(result, name, function, site, parameters, __VA_ARGS__)
#define LAZY_OR(value)
#include "lazy/core/tensor_members.def"

}  // namespace lazy
