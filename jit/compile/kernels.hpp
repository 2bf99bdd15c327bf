// The kernels of this process, shared by the programs that use them.
#pragma once
#include <memory>
#include <string_view>

#include "jit/backend/backend.hpp"

namespace lazy::jit {

/// The kernel of a backend that computes this: one for each loop::identity, built by whoever asks first.
/// Throws CompileError.
std::shared_ptr<const Kernel> kernel_for(const loop::LoopKernel&, Backend&);

/// The kernel with this identity, which goes by `name` and comes from the line `at`: from memory, else loaded
/// from what Kernel::stored gave in another process. Null if that makes no sense.
std::shared_ptr<const Kernel> kernel_from(std::string_view identity, std::string_view name,
                                          std::string_view at, std::string_view stored, Backend&);

/// Likewise of kernels along the same rows; null if the backend doesn't make one of them. `name`: for
/// reports.
std::shared_ptr<const Kernel> rows_for(const loop::FusedRows&, const std::string& name, Backend&);
std::shared_ptr<const Kernel> rows_from(const loop::FusedRows&, std::string_view stored, Backend&);

/// Drops all kernels that no program holds.
void clear_kernel_cache();

}  // namespace lazy::jit
