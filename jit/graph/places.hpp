// Says in an op's purpose where in a model it belongs, for traces: "in layer1.0.conv1, forward: conv2d:
// products".
#pragma once
#include <string_view>

namespace lazy::jit {

/// Returns the place that a purpose begins with, "in layer1.0.conv1, forward"; empty if there is none.
std::string_view place_of(const char* purpose);
/// Returns what follows the place; null if nothing does.
const char* without_place(const char* purpose);
/// Returns the purpose with this place before it, a text that is never freed. A place that it has stays.
const char* in_place(std::string_view place, const char* purpose);

}  // namespace lazy::jit
