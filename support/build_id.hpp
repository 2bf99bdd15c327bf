// Which build of the library this is.
#pragma once
#include <string_view>

namespace lazy {

/// A hash of the library's sources and of AsmJit's version, 16 hexadecimal digits: what one build has
/// compiled is good for others of the same id.
std::string_view build_id();

}  // namespace lazy
