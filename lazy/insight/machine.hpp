// Describes the machine as the CPU backend sees it, and chooses whose threads it uses.
//
//   std::cout << lazy::machine();
//   tbb::task_arena mine(4);  lazy::set_arena(&mine);
#pragma once
#include <string>

namespace tbb::detail::d1 {
class task_arena;  // tbb::task_arena of oneTBB
}

namespace lazy {

/// Returns instruction set, threads, caches, peak arithmetic, bandwidths and the cost of a dispatch, one line
/// each. Measured at the first call (or the first large launch) in a few milliseconds. Decides what runs on
/// one thread and what bypasses the caches; no result depends on it.
std::string machine();

/// Makes launches run in `arena` from now on, on no more threads than it has (or LAZY_NUM_THREADS, if that is
/// fewer); null: on the library's arena again. The arena must outlive every launch until the next call. Takes
/// effect for launches that begin later, on every thread.
void set_arena(tbb::detail::d1::task_arena* arena);

}  // namespace lazy
