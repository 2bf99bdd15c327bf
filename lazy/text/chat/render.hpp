// Writes what a chat template says of values.
#pragma once
#include <ctime>
#include <string>

#include "lazy/text/chat/syntax.hpp"

namespace lazy::text::chat {

/// Returns the text. `names` are those that the template knows; `now` is what its strftime_now() says. Fault
/// for what it does wrong, refuses, and for more steps or bytes than builtins.hpp says.
std::string render(const Statements&, const Dict& names, std::time_t now);

}  // namespace lazy::text::chat
