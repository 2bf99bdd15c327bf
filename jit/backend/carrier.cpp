#include "jit/backend/carrier.hpp"

#include <memory>

#include "jit/backend/backend.hpp"

namespace lazy::jit {

std::unique_ptr<Carrier> Backend::make_carrier() { return nullptr; }

}  // namespace lazy::jit
