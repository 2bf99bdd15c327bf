// Makes the call frame information of a kernel's code, by which debuggers step from it to its caller.
#pragma once
#include <string>

#include "backends/cpu/debug/code_info.hpp"

namespace lazy::cpu_backend {

/// Returns the contents of an .eh_frame section for a kernel's code, with absolute addresses. Empty if the
/// code doesn't begin as Assembly::prologue() writes it.
/// Invariant: between the prologue and the epilogue a kernel has the caller's stack pointer in its lowest
/// stack slot.
std::string eh_frame(const CodeInfo&);

}  // namespace lazy::cpu_backend
