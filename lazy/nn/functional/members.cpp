// Implements members of Tensor that are functions of networks.
#include "lazy/core/members.hpp"
#include "lazy/nn/functional/activation.hpp"

namespace lazy {

#define LAZY_MEMBER_OF_NN(result, name, function, site, parameters, ...) \
  LAZY_DEFINE_MEMBER(result, name, function, site, parameters, __VA_ARGS__)
#define LAZY_OR(value)
#include "lazy/core/tensor_members.def"

}  // namespace lazy
