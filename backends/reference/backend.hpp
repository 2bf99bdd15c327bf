// Implements the reference backend: plain C++ loops over a LoopKernel. It defines the meaning of every
// kernel: the oracle of the tests, the backend of machines that no compiler serves, and what LAZY_VERIFY
// compares with.
#pragma once
#include <memory>

#include "jit/backend/backend.hpp"

namespace lazy::reference {

std::unique_ptr<jit::Backend> make_backend();

}  // namespace lazy::reference
