#include "jit/registry.hpp"

namespace lazy::jit {

Backends& backends() {
  static Backends* const all = new Backends(make_backends());
  return *all;
}

}  // namespace lazy::jit
