#include "jit/compile/copies.hpp"

#include "jit/compile/folded_copies.hpp"
#include "jit/compile/relayout.hpp"

namespace lazy::jit {

void mark_copies(Program& p, bool host) {
  find_relayouts(p);
  if (host) find_folded_copies(p);
}

}  // namespace lazy::jit
