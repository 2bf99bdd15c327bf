// Informs debuggers and profilers about a kernel's code.
#pragma once
#include <cstddef>
#include <string>

namespace lazy::cpu_backend {

struct CodeInfo {
  const void* start = nullptr;
  size_t size = 0;
  std::string name;  // "lazy::map_add_main.cpp_14"
  std::string file;  // of the user's line, as the compiler was given it; empty: not known
  int line = 0;
};

/// Describes a kernel with this name that comes from the line `at`, "path/main.cpp:14".
CodeInfo code_info(const void* start, size_t size, const std::string& name, const std::string& at);

/// Informs those that the settings name, perf (LAZY_PERF_MAP) and GDB (LAZY_GDB), and VTune.
void announce(const CodeInfo&);
/// Informs them that the code at `start` is removed.
void withdraw(const void* start) noexcept;

}  // namespace lazy::cpu_backend
