// Names kernels for VTune, whose collector says in INTEL_JIT_PROFILER64 where it is.
#pragma once
#include "backends/cpu/debug/code_info.hpp"

namespace lazy::cpu_backend {

/// Informs the collector, if there is one, of the kernel's code, name and source line.
void notify_vtune(const CodeInfo&);

}  // namespace lazy::cpu_backend
