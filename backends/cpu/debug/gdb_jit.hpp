// Kernels for GDB, through its interface for code that is generated at run time (LAZY_GDB).
#pragma once
#include <string>

#include "backends/cpu/debug/code_info.hpp"

namespace lazy::cpu_backend {

/// An object file in memory for one kernel: its symbol, its source line, and how to unwind it.
std::string object_file(const CodeInfo&);

/// From now on GDB knows the code at info.start. Costs a breakpoint each if a debugger is there.
void register_with_gdb(const CodeInfo&);
/// Nothing if it was not registered.
void unregister_with_gdb(const void* start) noexcept;

}  // namespace lazy::cpu_backend
