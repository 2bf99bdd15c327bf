#pragma once
#include <memory>
#include <string_view>

#include "tests/emulated_cuda/objects.hpp"

namespace emulated {

/// Returns null if the shared object cannot be loaded, or is not a module. `source` is what it was compiled
/// of.
std::shared_ptr<LoadedModule> load(std::string_view elf, std::string_view source);

}  // namespace emulated
