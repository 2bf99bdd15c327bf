// The backends of this process. lazy/runtime.cpp fills it; jit/ knows them only by this interface.
#pragma once
#include <memory>

#include "jit/backend.hpp"

namespace lazy::jit {

struct Backends {
  std::unique_ptr<Backend> main;       // what programs run on
  std::unique_ptr<Backend> reference;  // LAZY_VERIFY's oracle
};
/// Built once, on first use, by the maker set here; never destroyed (tensors may outlive static destruction).
Backends& backends();
void set_backend_maker(Backends (*)());

}  // namespace lazy::jit
