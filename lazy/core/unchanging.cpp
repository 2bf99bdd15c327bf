#include "lazy/core/unchanging.hpp"

#include "jit/graph/node.hpp"

namespace lazy::detail {

void mark_unchanging(const Tensor& t, Site s) {
  if (jit::Buffer* const memory = t.eval(s).handle()->buffer.get()) memory->mark_unchanging();
}

}  // namespace lazy::detail
