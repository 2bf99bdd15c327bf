// Installs a callback that takes log lines in place of the file. Separate from log.hpp, which most files
// include.
#pragma once
#include <functional>
#include <string_view>

#include "support/log.hpp"

namespace lazy::logging {

/// Receives the text of each line, without prefix and newline; called from any thread, several at once, under
/// no lock. It may use the library: lines that this causes on the same thread go to the file. Exceptions from
/// it are dropped, with one warning. It may still be running on another thread when set_sink returns.
using Sink = std::function<void(Channel, std::string_view)>;

/// Replaces the sink; an empty one sends lines to the file again.
void set_sink(Sink);

}  // namespace lazy::logging
