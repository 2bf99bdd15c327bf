// Prints machine code as text.
#pragma once
#include <cstddef>
#include <string>

namespace lazy::cpu_backend {

/// Returns one instruction a line, up to the data that follow the code: these would decode as meaningless
/// instructions.
std::string disassemble(const void* code, size_t bytes);

}  // namespace lazy::cpu_backend
