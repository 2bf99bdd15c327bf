#include "jit/compile/copies.hpp"

#include "jit/compile/folded_copies.hpp"
#include "jit/compile/kept_steps.hpp"

namespace lazy::jit {

void mark_copies(Program& p, bool host) {
  if (!host) return;
  find_kept_steps(p);
  find_folded_copies(p);
}

}  // namespace lazy::jit
