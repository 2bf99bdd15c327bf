#include "jit/registry.hpp"

#include "support/error.hpp"

namespace lazy::jit {

static Backends (*maker)() = nullptr;

void set_backend_maker(Backends (*m)()) { maker = m; }

Backends& backends() {
  static Backends* const all = [] {
    if (!maker) throw DeviceError("no backend is registered: link the whole lazy library");
    return new Backends(maker());
  }();
  return *all;
}

}  // namespace lazy::jit
