// Makes the call frame information of a kernel's code, by which debuggers step from it to its caller.
#pragma once
#include <string>

#include "backends/cpu/debug/code_info.hpp"

namespace lazy::cpu_backend {

/// Returns the contents of an .eh_frame section for a kernel's code. Empty if the code doesn't begin as
/// Assembly::prologue() writes it. `behind`: so many bytes behind the code's start the section will lie, for
/// code that is copied together with it; 0: its addresses are absolute.
/// Invariant: between the prologue and the epilogue a kernel has the caller's stack pointer in its lowest
/// stack slot.
std::string eh_frame(const CodeInfo&, size_t behind = 0);
/// Returns the contents of an .eh_frame_hdr section that follows an eh_frame(info, behind) of so many bytes.
std::string eh_frame_header(size_t frame_bytes, size_t behind);
constexpr size_t kFrameHeaderBytes = 20;  // of that
/// Returns so many bytes behind the start of a kernel's code of this size its .eh_frame may lie.
constexpr size_t unwinding_place(size_t code_bytes) { return (code_bytes + 7) / 8 * 8; }

}  // namespace lazy::cpu_backend
