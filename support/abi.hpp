// Lets the linker check that a program and the library were built compatibly: a program that was not refers
// to a symbol that the library does not define.
#pragma once

// The containers of libstdc++ have another layout under _GLIBCXX_DEBUG.
#ifdef _GLIBCXX_DEBUG
#define LAZY_CONTAINERS compiled_with_GLIBCXX_DEBUG
#else
#define LAZY_CONTAINERS compiled_without_GLIBCXX_DEBUG
#endif

// No word of everyday use: <cxxabi.h> has a namespace abi, which `using namespace lazy` would hide behind
// this.
namespace lazy::containers_of_build {
extern const char LAZY_CONTAINERS;
[[gnu::used, gnu::retain]] inline const char* const containers = &LAZY_CONTAINERS;
}  // namespace lazy::containers_of_build
