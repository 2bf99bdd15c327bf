#include "jit/graph/capturing.hpp"

namespace lazy::jit {

thread_local constinit Capturing* Capturing::current_ = nullptr;

}  // namespace lazy::jit
