// Finds the copies of a program that need not be made at each run.
#pragma once
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Marks those whose result may be there already (relayout.hpp), and, where kernels run on the host, those
/// that the product which reads them makes needless (folded_copies.hpp). For every program, compiled or
/// loaded, once its steps and memory are known.
void mark_copies(Program&, bool host);

}  // namespace lazy::jit
