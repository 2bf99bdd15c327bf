#include "jit/plan/faults.hpp"

#include <algorithm>

#include "jit/backend/registry.hpp"
#include "jit/graph/node.hpp"

namespace lazy::jit {

void FaultFlags::clear(size_t count, Backend& backend) {
  const std::vector<int32_t> zeros(count, 0);
  if (!flags_ || &backend_of(*flags_.get()) != &backend)
    flags_ = BufferRef::allocate(backend, count * sizeof(int32_t));
  backend.write(flags_->data(), zeros.data(), count * sizeof(int32_t));
}

std::vector<int32_t> FaultFlags::read(size_t count, Backend& backend) const {
  std::vector<int32_t> flags(count);
  backend.read(flags.data(), flags_->data(), count * sizeof(int32_t));
  return flags;
}

bool FaultFlags::none(size_t count, Backend& backend) const {
  const std::vector<int32_t> flags = read(count, backend);
  return std::all_of(flags.begin(), flags.end(), [](int32_t f) { return f == 0; });
}

void FaultFlags::look(const std::vector<uint32_t>& values, std::span<Node* const> nodes,
                      Backend& backend) const {
  const std::vector<int32_t> flags = read(values.size(), backend);
  uint32_t first = ~0u;
  for (size_t i = 0; i < flags.size(); ++i)
    if (flags[i]) first = std::min(first, values[i]);
  if (first != ~0u) throw Fault(first, nodes[first]->site);
}

}  // namespace lazy::jit
