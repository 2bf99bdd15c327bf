// Names a line in the user's program. libstdc++'s source_location is one pointer, so a site is 8
// bytes.
#pragma once
#include <source_location>
#include <string>
#include <string_view>

#include "support/abi.hpp"

// clang++ 15 has source_location, but takes the line of the default argument, in a header of the library's.
#if !defined(__cpp_lib_source_location) || (defined(__clang__) && __clang_major__ < 16)
#error "lazy needs std::source_location as a default argument: g++ 12, clang++ 16 or newer, -std=c++20"
#endif

namespace lazy {

/// Holds the caller's line. It is the last parameter of a function and has a default argument, `Site s =
/// Site::current()`; nothing but a source location converts to it. So where the compiler says that it cannot
/// convert an argument to LineFilledInByCompiler, there is one argument too many.
class LineFilledInByCompiler : public std::source_location {
 public:
  constexpr LineFilledInByCompiler() noexcept = default;
  // current() is the base's: one of its own would give the line of the default argument.
  constexpr LineFilledInByCompiler(const std::source_location& s) noexcept : std::source_location(s) {}
};
using Site = LineFilledInByCompiler;
static_assert(sizeof(Site) == sizeof(void*));

inline std::string_view file_name(const Site& s) {
  std::string_view f = s.file_name();
  const size_t slash = f.rfind('/');
  return slash == f.npos ? f : f.substr(slash + 1);
}
/// Returns text such as "main.cpp:14".
inline std::string to_string(const Site& s) {
  return std::string(file_name(s)) + ":" + std::to_string(s.line());
}

}  // namespace lazy
