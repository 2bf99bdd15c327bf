// Lines of the user's program at which one flush after another compiles: state that was forgotten, or a
// structure that is another each time. Warned of once a line. Only misses come here.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "jit/plan/program.hpp"

namespace lazy::jit {

/// A flush at this line has just compiled `program`. `difference` says how its key or layout differs from the
/// nearest of others; it is asked for only if it is told.
void note_compile(const Site&, const std::shared_ptr<const Program>& program,
                  const std::function<std::string()>& difference);
/// For lazy::cache::clear() and tests: lines start anew, but for those that were warned of.
void forget_compiles();

}  // namespace lazy::jit
