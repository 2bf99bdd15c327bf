// Shares what the files that look for hints need to give one.
#pragma once
#include <string>
#include <vector>

#include "jit/graph/cause.hpp"
#include "jit/graph/node.hpp"
#include "support/first_time.hpp"
#include "support/log.hpp"
#include "support/log_fields.hpp"

namespace lazy::jit {

inline std::string line_of(const Node& n) { return lazy::to_string(n.site); }

/// True if the program reads a value for which it flushed.
constexpr bool is_asking(Cause c) {
  return c == Cause::item || c == Cause::truth || c == Cause::to_vector || c == Cause::data ||
         c == Cause::print;
}

/// Returns "a, b and c".
inline std::string listed(const std::vector<std::string>& all) {
  std::string s;
  for (size_t i = 0; i < all.size(); ++i) s += (i == 0 ? "" : i + 1 == all.size() ? " and " : ", ") + all[i];
  return s;
}

/// Gives a hint of a kind, a literal, of a line.
inline void give_hint_again(const char* kind, const Site& s, const std::string& what) {
  logging::hint(what, logging::Fields().at(s).add("hint", kind));
}
/// Gives it the first time.
inline void give_hint(const char* kind, const Site& s, const std::string& what) {
  if (is_first_time(kind, s)) give_hint_again(kind, s, what);
}

}  // namespace lazy::jit
