// Runs a device's call on the host.
#pragma once
#include <string>

#include "jit/calls/call.hpp"

namespace lazy::jit {

/// Runs the call by a kernel of the host's backend: operands are copied there, outputs back. `why` is for the
/// log, which says "ran on the host, for <why>".
void run_on_host(const CallRun&, const CallKernel& there, const std::string& why);

}  // namespace lazy::jit
