// Remembers what was said of which line of the user's, so that nothing is said twice.
#pragma once
#include "support/site.hpp"

namespace lazy {

/// True the first time that something of this name, a literal, is to be said of the line. False for what has
/// no line, and once a thousand things were said.
bool is_first_time(const char* name, const Site&);

}  // namespace lazy
