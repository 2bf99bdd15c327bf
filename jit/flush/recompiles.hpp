// Lines of the user's program at which one flush after another compiles, or at which a limit flushes again
// and again: state that was forgotten, or a structure that is another each time. Warned of once a line.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "jit/graph/record.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Notes that a flush at this line has just compiled `program`, of so many inputs. `difference` says how its
/// key or layout differs from the nearest of others; it is asked for only if it is told.
void note_compile(const Site&, const std::shared_ptr<const Program>& program, uint64_t inputs,
                  const std::function<std::string()>& difference);
/// Notes that a limit (node_limit, byte_limit) flushes what is pending at this line.
void note_limit(const Site&, Cause);
/// For lazy::cache::clear() and tests: lines start anew, but for those that were warned of.
void forget_compiles();

}  // namespace lazy::jit
