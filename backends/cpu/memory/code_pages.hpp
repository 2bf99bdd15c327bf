// Manages pages of machine code. Each kernel has pages for itself, of private anonymous memory: they are
// written, then made executable, and stay so until the kernel is destroyed. So no page that a thread may be
// in ever changes, a forked child has its own copy, and adding a kernel is one system call.
#pragma once
#include <cstddef>
#include <string_view>

namespace lazy::cpu_backend {

/// Copies code to executable memory. Throws CompileError when there is none.
const char* add_code(std::string_view);
/// Frees such code.
void remove_code(const char* at, size_t bytes) noexcept;

}  // namespace lazy::cpu_backend
