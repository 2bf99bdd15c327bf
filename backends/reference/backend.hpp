// The reference backend: plain C++ loops over a LoopKernel. It says what every kernel means: the oracle of
// the tests, the backend of machines that no compiler serves, and the other half of LAZY_VERIFY.
#pragma once
#include <memory>

#include "jit/backend/backend.hpp"

namespace lazy::reference {

std::unique_ptr<jit::Backend> make_backend();

}  // namespace lazy::reference
