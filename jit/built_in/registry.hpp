// Finds the definitions of calls by name: the library's own (list.hpp), and those that were registered.
#pragma once
#include <string>
#include <string_view>

#include "jit/calls/call.hpp"

namespace lazy::jit {

/// Registers a definition by its name, for good, so that programs on disk may contain it. The library's own
/// calls are registered already. Throws Error if another definition has the name.
void register_call(const CallDefinition&);
/// Returns the definition with this name, or null if there is none.
const CallDefinition* find_call(std::string_view name);
/// Describes to people what a key has of a call.
std::string call_text(std::string_view name, std::string_view attributes);

}  // namespace lazy::jit
