// Compiles CUDA C++ to machine code of one architecture, by NVRTC.
#pragma once
#include <string>
#include <vector>

namespace lazy::cuda_backend {

/// Holds the assembler's statistics of one function.
struct FunctionUse {
  std::string name;
  int registers = 0, stack_bytes = 0, spill_stores = 0, spill_loads = 0, shared_bytes = 0;
};

struct Cubin {
  std::string bytes;
  std::string log;  // of the compiler and the assembler
};

/// Compiles. `architecture` is 90 for sm_90. `driver_major` is the newest major version of CUDA that the
/// compiler may have; 0: any. Any thread may call; several compiles run side by side. Throws CompileError
/// with the text, numbered, and the compiler's messages; DeviceError if there is no NVRTC or it does not know
/// the architecture.
Cubin compile(const std::string& text, const std::string& name, int architecture, int driver_major);

/// Returns what the log says of each function.
std::vector<FunctionUse> functions_in(const std::string& log);

/// Returns 80 and 90 for "sm_80,sm_90". Throws ConfigError naming what isn't an architecture.
std::vector<int> architectures_in(const std::string& list);

}  // namespace lazy::cuda_backend
