// How to step from a kernel to its caller: the call frame information of its code, for debuggers.
#pragma once
#include <string>

#include "backends/cpu/debug/code_info.hpp"

namespace lazy::cpu_backend {

/// The contents of an .eh_frame section for a kernel's code, with absolute addresses. Empty if the code
/// doesn't begin as Assembly::prologue() writes it. Between the prologue and the epilogue a kernel has the
/// caller's stack pointer in its lowest stack slot.
std::string eh_frame(const CodeInfo&);

}  // namespace lazy::cpu_backend
