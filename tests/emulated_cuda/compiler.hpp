// Compiles kernel texts with the host's C++ compiler.
#pragma once
#include <string>
#include <string_view>

namespace emulated {

struct Compiled {
  bool ok = false;
  std::string elf;  // the bytes of a shared object
  std::string log;  // the compiler's messages
};

/// Compiles a text whose messages name it `name`. Any number of threads may. Modules are cached in
/// EMULATED_CUDA_CACHE.
Compiled compile(std::string_view text, std::string_view name);

}  // namespace emulated
