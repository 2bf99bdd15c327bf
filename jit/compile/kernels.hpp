// Caches the kernels of this process, shared by the programs that use them.
#pragma once
#include <memory>
#include <string_view>

#include "jit/backend/backend.hpp"

namespace lazy::jit {

/// Returns the backend's kernel for a loop kernel: one for each loop::identity, built at the first call.
/// Throws CompileError.
std::shared_ptr<const Kernel> kernel_for(const loop::LoopKernel&, Backend&);

/// Returns the kernel with this identity: from memory, else loaded from what Kernel::stored returned in
/// another process. It gets `name` and the line `at`. Null if `stored` makes no sense.
std::shared_ptr<const Kernel> kernel_from(std::string_view identity, std::string_view name,
                                          std::string_view at, std::string_view stored, Backend&);

/// Return likewise one kernel for several along the same rows; null if the backend can't make it. `name` is
/// for reports.
std::shared_ptr<const Kernel> rows_for(const loop::FusedRows&, const std::string& name, Backend&);
std::shared_ptr<const Kernel> rows_from(const loop::FusedRows&, std::string_view stored, Backend&);

/// Drops all kernels that no program uses.
void clear_kernel_cache();

}  // namespace lazy::jit
