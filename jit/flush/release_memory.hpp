#pragma once
#include <cstddef>

namespace lazy::jit {

/// Frees memory that no value is in, to the system and to the drivers of the devices in use, and also the
/// calling thread's work memory. Returns the number of bytes that values could have used.
size_t release_memory();

}  // namespace lazy::jit
