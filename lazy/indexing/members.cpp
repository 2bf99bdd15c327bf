// Implements members of Tensor that select elements.
#include "lazy/core/members.hpp"
#include "lazy/indexing/selecting.hpp"
#include "lazy/indexing/writing.hpp"

namespace lazy {

#define LAZY_MEMBER_OF_INDEXING(result, name, function, site, parameters, ...) \
  LAZY_DEFINE_MEMBER(result, name, function, site, parameters, __VA_ARGS__)
#define LAZY_OR(value)
#include "lazy/core/tensor_members.def"

}  // namespace lazy
