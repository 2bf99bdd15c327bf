// Finds what of a program need not be made at each run.
#pragma once
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Where kernels run on the host, marks steps whose results may be there already (kept_steps.hpp), and copies
/// that the product which reads them makes needless (folded_copies.hpp). For every program, compiled or
/// loaded, once its steps and memory are known.
void mark_copies(Program&, bool host);

}  // namespace lazy::jit
