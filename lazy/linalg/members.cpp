// Implements members of Tensor that are linear algebra.
#include "lazy/core/members.hpp"
#include "lazy/linalg/linalg.hpp"

namespace lazy {

#define LAZY_MEMBER_OF_LINALG(result, name, function, site, parameters, ...) \
  LAZY_DEFINE_MEMBER(result, name, function, site, parameters, __VA_ARGS__)
#define LAZY_OR(value)
#include "lazy/core/tensor_members.def"

}  // namespace lazy
