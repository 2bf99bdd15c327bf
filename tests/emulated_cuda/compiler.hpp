// Compiles kernel texts with the host's C++ compiler.
#pragma once
#include <string>

namespace emulated {

struct Compiled {
  bool ok = false;
  std::string elf;  // the bytes of a shared object
  std::string log;  // the compiler's messages
};

/// Lists how hard the compiler tries. Most kernels run for less time than it takes to optimise them.
enum class Effort { little, more };
/// True if more effort gives something else.
bool has_more_effort();
/// True if compile() has the result in its cache.
bool is_cached(const std::string& source, Effort);

/// Compiles what wrap() makes of a text. Any number of threads may. Modules are cached in
/// EMULATED_CUDA_CACHE.
Compiled compile(const std::string& source, Effort);

/// Returns the compiler's errors in a text, without making anything of it; empty if there are none.
std::string errors_in(const std::string& text);

}  // namespace emulated
