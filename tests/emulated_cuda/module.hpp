#pragma once
#include <memory>
#include <string_view>

#include "tests/emulated_cuda/objects.hpp"

namespace emulated {

/// Returns null if the shared object cannot be loaded, or is not a module. `source` is what it was compiled
/// of.
std::shared_ptr<LoadedModule> load(std::string_view elf, std::string_view source);

/// Compiles one of a text's kernels and loads it. Ends the process if it does not compile.
std::shared_ptr<LoadedModule> load_kernel(const Text&, const FoundKernel&);
/// Returns a module with the same kernels, compiled with more effort.
std::shared_ptr<LoadedModule> load_optimised(const LoadedModule&);

}  // namespace emulated
