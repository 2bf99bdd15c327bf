// A callback that takes log lines in place of the file. Apart from log.hpp, which most files include.
#pragma once
#include <functional>
#include <string_view>

#include "support/log.hpp"

namespace lazy::logging {

/// Called for each line with its text, without prefix and newline; from any thread, several at once, under no
/// lock. It may use the library: lines that this causes on the same thread go to the file. What it throws is
/// dropped, with one warning. It may still be running on another thread when set_sink returns.
using Sink = std::function<void(Channel, std::string_view)>;

/// Replaces the sink; an empty one sends lines to the file again.
void set_sink(Sink);

}  // namespace lazy::logging
