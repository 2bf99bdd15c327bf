// A module's __shared__ variables, read from its symbol table.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emulated {

struct SharedVariable {
  uint64_t address;  // from where the module is loaded
  size_t bytes;
  std::string kernel;  // that it is declared in; empty: in another function, or outside

  bool belongs_to(std::string_view name) const { return kernel.empty() || kernel == name; }
};

/// `elf` is a shared object of this machine, as the compiler wrote it.
std::vector<SharedVariable> shared_variables(std::string_view elf);

/// Bytes of those that a kernel has.
size_t bytes_of(const std::vector<SharedVariable>&, std::string_view kernel);
/// What a block may have without asking.
inline constexpr size_t kDefaultSharedBytes = 48 << 10;

}  // namespace emulated
