// Finds lines of the user's program at which one flush after another compiles, a limit flushes again and
// again, or a large buffer is copied for a small change: state that is never evaluated, a structure that
// differs each time, a value from before that is still held. Warns once a line.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "jit/graph/record.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Notes that a flush at this line has just compiled `program`, with so many inputs. `explained`: another
/// hint says why, so none is needed here. `difference` returns how its key or layout differs from the nearest
/// of others; it is called only for a warning.
void note_compile(const Site&, const std::shared_ptr<const Program>& program, uint64_t inputs, bool explained,
                  const std::function<std::string()>& difference);
/// True if flushes at this line have compiled one program after another for long, each of which ran once: the
/// next will not be needed again either, so it isn't kept on disk, and why it differs isn't looked for.
bool compiles_in_vain(const Site&);
/// Notes that a flush at this line has loaded its program: not each one compiles.
void note_load(const Site&);
/// Says what a flush by a limit found: how much waited, and where what is carried on was made. Empty where
/// there is no memory for it.
std::string what_waited(const CapturedGraph&) noexcept;
/// Notes that a limit (node_limit, byte_limit) flushed what was pending at this line, and what_waited().
void note_limit(const Site&, Cause, const std::string& waited);
/// Notes that what is recorded at this line copied all of its base to change a small part of it.
void note_copy(const Site&, uint64_t bytes);
/// Forgets all lines except those that were warned of, for lazy::cache::clear() and tests.
void forget_compiles();

}  // namespace lazy::jit
