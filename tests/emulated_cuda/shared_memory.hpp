// Reads a module's __shared__ variables from its symbol table.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emulated {

struct SharedVariable {
  uint64_t address;  // relative to where the module is loaded
  size_t bytes;
  std::string kernel;  // kernel that declares it; empty: in another function, or outside

  bool belongs_to(std::string_view name) const { return kernel.empty() || kernel == name; }
};

/// Returns the variables. `elf` is a shared object of this machine, as the compiler wrote it.
std::vector<SharedVariable> shared_variables(std::string_view elf);

/// Returns the bytes of a kernel's variables.
size_t bytes_of(const std::vector<SharedVariable>&, std::string_view kernel);
/// Bytes that a block may have without a request.
inline constexpr size_t kDefaultSharedBytes = 48 << 10;

}  // namespace emulated
