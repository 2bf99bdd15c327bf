// Prints docs/tuning.md from the registry of variables.
#include <iostream>

#include "support/config.hpp"

namespace {

constexpr const char* kThreadsAndMemory = R"(
## Threads and memory

`std::cout << lazy::machine()` prints what was measured of this machine: peak arithmetic, the bandwidth of each cache and
of memory, the cost of a dispatch. It is measured once a process, at the first launch that might be worth a second
thread, in a few milliseconds. It decides when something is done, never a result: bits depend on neither threads nor
sizes.

* **One thread or several.** A launch's time is estimated from its instructions and the bytes it moves, at the bandwidth
  of the cache they fit. From 60 us on it goes to all threads; from 8 us on (25 us at most, where dispatches are slow) it
  does when such launches follow each other within 60 us, so that the threads are still awake. Others run on the
  caller's thread: waking a thread would cost more than it brings.
* **How many threads.** As many as the affinity mask and the cgroup's CPU quota allow (of the process's group and all above
  it), or `LAZY_NUM_THREADS`. A host with an arena of its own passes it: `lazy::set_arena(&arena)` with a
  `tbb::task_arena*`; null goes back to the library's. `lazy/machine.hpp` needs no TBB header.
* **Results larger than the last-level cache** are written past it, by non-temporal stores, when the launch as a whole
  touches more than that cache holds, at least half of it as results, in whole cache lines, and not in place.
* **Blocks are kept** when tensors die, up to 4 GiB, and serve later ones of about their size: a loop in its steady state
  asks the system for nothing and faults no page. Blocks of 2 MiB and more lie on huge pages where the system grants
  them (`/sys/kernel/mm/transparent_hugepage/enabled`: `madvise` or `always`).
)";

}  // namespace

int main() {
  std::cout << "# Tuning\n\n"
               "Every variable can be set in the environment or from code:\n\n"
               "    LAZY_NUM_THREADS=4 ./program\n"
               "    lazy::config::set(\"LAZY_NUM_THREADS\", \"4\");\n\n"
               "A value set from code goes before the environment's, and that before the default. "
               "`lazy::config::dump()` tells the "
               "values\nin force and where each comes from; `LAZY_CONFIG=help` prints this table when a "
               "program starts. A value that "
               "a variable\ndoes not accept costs one line on standard error and its default is used; with "
               "`LAZY_STRICT=1` it throws "
               "`ConfigError`.\nBooleans are `0|1|on|off|true|false`, sizes `512MiB` or `2G`; a bare number "
               "is bytes.\n\n"
               "This page is generated from the registry (`cmake --build build/release --target docs`).\n\n"
            << lazy::config::markdown() << kThreadsAndMemory;
}
