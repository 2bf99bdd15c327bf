// The backends of this process. jit/ knows them only by their interface.
#pragma once
#include <memory>

#include "jit/backend.hpp"

namespace lazy::jit {

struct Backends {
  std::unique_ptr<Backend> main;       // what programs run on
  std::unique_ptr<Backend> reference;  // LAZY_VERIFY's oracle
};

/// Built once, on first use; never destroyed (tensors may outlive static destruction). Tests may wrap `main`
/// before use.
Backends& backends();

/// Supplied by the floor that assembles the library (lazy/runtime.cpp).
Backends make_backends();

}  // namespace lazy::jit
