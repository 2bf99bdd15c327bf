// Starts threads for a forked child whose parent had started TBB's: those stayed in the parent, and TBB,
// which believes that it has them, starts no others.
#pragma once
#include <cstdint>
#include <functional>

namespace lazy::cpu_backend {

/// Calls some(p, p + 1) for p = 0 ... pieces - 1, on at most so many threads, the calling one among them;
/// returns when all are done. Throws what one of them throws. A second call at the same time, or from a
/// piece, does its pieces alone.
void run_in_team(int64_t pieces, int threads, const std::function<void(int64_t first, int64_t last)>& some);

}  // namespace lazy::cpu_backend
