#pragma once
#include <cstddef>

namespace lazy::jit {

/// Gives memory that no value is in back to the system, and to the drivers of the devices in use; the calling
/// thread's work memory, too. Returns how many bytes values could have had.
size_t release_memory();

}  // namespace lazy::jit
