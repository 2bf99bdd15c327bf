// Registers kernels with GDB, through its interface for code that is generated at run time (LAZY_GDB).
#pragma once
#include <string>

#include "backends/cpu/debug/code_info.hpp"

namespace lazy::cpu_backend {

/// Returns an object file for one kernel: its symbol, its source line, and how to unwind it.
std::string object_file(const CodeInfo&);

/// Informs GDB about the code at info.start. Costs a stop at a breakpoint if a debugger is attached.
void register_with_gdb(const CodeInfo&);
/// Informs GDB that the code is removed. Does nothing if it was not registered.
void unregister_with_gdb(const void* start) noexcept;

}  // namespace lazy::cpu_backend
