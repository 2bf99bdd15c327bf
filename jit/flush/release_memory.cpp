#include "jit/flush/release_memory.hpp"

#include "jit/backend/kept_results.hpp"
#include "jit/backend/registry.hpp"
#include "jit/flush/found_programs.hpp"
#include "jit/graph/graph.hpp"
#include "jit/key/captured_graph.hpp"
#include "support/spare_memory.hpp"

namespace lazy::jit {

size_t release_memory() {
  release_spare_nodes();
  SpareMemory<Buffer>::release();
  CapturedGraphLease::release_spare();
  forget_found();
  kept::release();
  size_t bytes = backends().main->release_memory();
  for (Backend* b : backends().cuda->in_use()) bytes += b->release_memory();
  return bytes;
}

}  // namespace lazy::jit
