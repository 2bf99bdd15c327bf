// Runs pieces of launches on TBB's threads, which look for more of them for a while after each.
#pragma once
#include <cstdint>
#include <functional>

namespace lazy::cpu_backend {

/// Calls some(first, last) for parts of 0 ... pieces, on at most so many threads, the calling one among
/// them; returns when all are done. Throws what one of them throws. Several threads may call it at once, and
/// pieces may.
void run_in_team(int64_t pieces, int threads, const std::function<void(int64_t first, int64_t last)>& some);

/// True if TBB's threads are this process's, or there are none yet: then they are this process's from now on.
bool tbb_lives();

/// True if threads of the team look for work, so that asking them costs less than a microsecond.
bool team_is_awake();

}  // namespace lazy::cpu_backend
