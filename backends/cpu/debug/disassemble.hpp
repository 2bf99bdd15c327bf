// Machine code as text.
#pragma once
#include <cstddef>
#include <string>

namespace lazy::cpu_backend {

/// One instruction a line, up to the data that follow the code (which decode as whatever they are).
std::string disassemble(const void* code, size_t bytes);

}  // namespace lazy::cpu_backend
