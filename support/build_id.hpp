// Identifies the build of the library.
#pragma once
#include <string_view>

namespace lazy {

/// Returns a hash of the library's sources and of AsmJit's version, 16 hexadecimal digits. Builds with the
/// same id may use each other's compiled programs.
std::string_view build_id();

}  // namespace lazy
