// Tells summaries (summarise.hpp) of flushes and launches, while somebody wants one.
#pragma once
#include "jit/graph/cause.hpp"
#include "jit/key/report.hpp"
#include "jit/plan/work.hpp"
#include "support/profile.hpp"

namespace lazy::jit {

class Backend;

namespace summary {

/// True if somebody wants a summary; then profile::on() is true as well.
bool on() noexcept;
/// The calling thread's launches from now on are of a flush at this line.
void runs(Cause, const Site&, const Backend&);
/// A flush is done that took from start to end.
void flushed(profile::Ticks start, profile::Ticks end, const FlushReport&, uint64_t ops);
/// A kernel of it ran on so many threads' parts.
void launched(const char* name, profile::Ticks ticks, const Amount&, uint32_t parts);

}  // namespace summary
}  // namespace lazy::jit
