// Records the events of LAZY_PROFILE for flushes, compiles and launches.
#pragma once
#include "jit/key/report.hpp"
#include "jit/plan/program.hpp"
#include "support/profile.hpp"

namespace lazy::jit {

/// Holds the time stamps of one flush, 0 throughout while nothing is recorded.
struct FlushTimes {
  profile::Ticks first_op = 0;  // the component's first op was recorded; 0: before the recording began
  profile::Ticks start = 0;     // the flush began
  profile::Ticks keyed = 0;     // values were numbered and the key encoded
  profile::Ticks ready = 0;     // the program was found or compiled
};

namespace event {
extern const profile::Kind kSimplify, kFuse, kLower, kTileGroups, kVerify;

void compiled(profile::Ticks start, const Program&);
void codegen(profile::Ticks start, const std::string& kernel, size_t bytes);
/// Notes that the calling thread is about to run a flush's program.
void runs(Cause, const Site&, const Backend&);
void flush(const FlushTimes&, const FlushReport&, Cause, const Site&, const Program&);
void failed_flush(const FlushTimes&, Cause, const Site&, const char* what);
void guard(const Guard&, int64_t actual, const Program&);
/// Records entries, hits and misses of the program cache so far.
void cache(uint64_t entries);
/// Notes that the calling thread's launches belong to a run of this program for this captured graph: names
/// and lines are its nodes'.
void name_run(const Program&, const CapturedGraph&);
/// Return the name of the kernel of a program's step, and its line as "main.cpp:14". Both texts are never
/// freed.
const char* name_of(const Program&, const Step&);
const char* line_of(const Program&, const Step&);
/// Returns the program's number in the trace, from 1, in the order in which programs were first recorded.
uint64_t number_of(const Program&);
/// Records a launch of a program's step.
void launch(profile::Ticks start, profile::Ticks end, const Program&, const Step&, const uint64_t* words,
            uint32_t parts);
/// Records a run of a program's step that is a call.
void call(profile::Ticks start, profile::Ticks end, const Program&, const Step&, const CapturedGraph&);
/// Records the steps of a tile group, which took turns from start to end, as if they had run one by one: each
/// gets its share of `spent`, the time on all threads. `words` are their arguments for the complete box, step
/// by step.
void tile_group(profile::Ticks start, profile::Ticks end, const Program&, const TileGroup&, int64_t blocks,
                const std::vector<uint64_t>& spent, const uint64_t* words);
}  // namespace event

}  // namespace lazy::jit
