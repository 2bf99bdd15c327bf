// Prints docs/tuning.md from the registry of variables.
#include <iostream>

#include "support/config.hpp"

namespace {

constexpr const char* kThreadsAndMemory = R"(
## Threads and memory

`std::cout << lazy::machine()` prints what was measured of this machine: peak arithmetic, the bandwidth of each cache and
of memory, the cost of a dispatch. It is measured once a week, by the first process with a launch that might be worth a
second thread, in a few milliseconds, and kept in the cache on disk. It decides when something is done, never a result: bits depend on neither threads nor
sizes.

* **One thread or several.** A launch's time is estimated from its instructions and the bytes it moves, at the bandwidth
  of the cache they fit. From 60 us on it goes to all threads; from 8 us on (25 us at most, where dispatches are slow) it
  does while threads look for work, which they do for 100 us after each launch that they helped with, and when such launches
  follow each other within 60 us. Others run on the caller's thread: waking a thread would cost more than it brings.
  A thread that is late, or has to let other programs run, has its part done by the others, in pieces of 20 us or more.
* **How many threads.** As many as the affinity mask and the cgroup's CPU quota allow (of the process's group and all above
  it), or `LAZY_NUM_THREADS`. A host with an arena of its own passes it: `lazy::set_arena(&arena)` with a
  `tbb::task_arena*`; null goes back to the library's arena. `lazy/insight/machine.hpp` needs no TBB header.
* **Results larger than the last-level cache** are written past it, by non-temporal stores, when the launch as a whole
  touches more than that cache holds, at least half of it as results (or more than twice as much), in whole cache lines, and
  not in place. A cache is taken to be no larger than 32 second-level caches: of the hundreds of MiB that many cores share,
  a process has no more for itself.
* **Blocks are kept** when tensors die, and serve later ones of about their size: a loop in its steady state
  asks the system for nothing and faults no page. At most a fourth is kept of what the process may have: the least of the machine's memory, its control
  groups' limits, `RLIMIT_AS` and `RLIMIT_DATA`. When other sizes are asked for, no more stays than was in use at once lately, unless the program comes back
  for it. What nobody needed for ten seconds goes back to the system at a later allocation, and everything does before one fails.
  `lazy::release_memory()` gives all of it back, for a program that goes idle. Blocks of 2 MiB and more lie on huge pages where the system grants
  them (`/sys/kernel/mm/transparent_hugepage/enabled`: `madvise` or `always`).
)";

constexpr const char* kRecipes = R"(
## Recipes

**The first call is slow.** Compiling takes some 50 us a kernel. It is done once a machine: programs are kept on disk, and a
second process loads them in 4 to 8 us a kernel. `LAZY_LOG=flush` says of each flush whether it was `compiled`, `loaded from disk`
or a `hit`, and how long that took. An application ships what it will need:

    lazy-cache --dir /tmp/warm warmup -- ./app --typical-work      runs it, and tells what was compiled
    lazy-cache --dir /tmp/warm export app.pack                     one file, to be installed with it
    lazy-cache import app.pack                                     on the target: builds it again, takes what comes out alike

and may call `lazy::cache::warmup()` when it starts, which loads everything ahead. A pack is for one build of the library
and one instruction set; anything else in it is left out. Images that are built by one user and run by another set `LAZY_CACHE_DIR` to a
folder that the second one owns, mode 0700: a folder or file that anyone else may write to is refused, for what lies in
it is executed.

What trust a pack needs: what is in the folder is run as it is, so it needs the trust of a program. What `import` is given needs none: each program is built
again from its key (the graph, and one set of extents that it was compiled with), and is taken only if plan, guards and machine code are to the byte
what this library would have compiled; `verify --recompile` and `LAZY_CACHE_VERIFY` do the same with what is in the folder. `import --trust` does not.

**Memory grows.** What is pending keeps its inputs alive. A loop that only adds up (`total = total + f(batch)`) and never asks for a value
holds every batch until `LAZY_MAX_BYTES` or `LAZY_MAX_GRAPH` cuts it (a warning names the line when that goes on). Call `eval` on what is carried from one step to the
next. `lazy::metrics().bytes_live` is what values hold now, `bytes_peak` the most they held; `LAZY_LOG=memory` tells of
large blocks. Programs in memory and on disk are bounded by `LAZY_CACHE_SIZE`; `lazy::cache::programs()` lists them with
their runs, `lazy-cache ls` those on disk.

**It recompiles each step.** `LAZY_LOG=miss` gives each reason with the line that asked for a value, what differs from the nearest program, and the line where
that was recorded:

    lazy[miss] item at sizes.cpp:14: guard extent: dimension 0 of v0: was 103, now 104 (v0 was made at sizes.cpp:13); LAZY_DYNAMIC=never compiles for each size
    lazy[miss] eval at growing.cpp:15: the nearest program has v19 = input float32 [n]; here it is v19 = input float32 [1] made at growing.cpp:13 (35 values, there 33)

Sizes, scalars and slice positions are arguments and never a reason by themselves; structure is: another number of ops, another axis, rank
or dtype, an extent that becomes 1, a tensor that is still held here and was not there. `tests/exercises/` has three programs to try it on, and `tests/exercises/slow/` some twenty that are slow for other reasons.
`lazy::no_flush` proves that a piece of code only records.

**Many processes share a cache.** They may, any number of them, forked from each other too, killed at any time: each adds to a file of its own, and what is damaged is not used. Workers that should not
write set `LAZY_CACHE=readonly`. `lazy-cache verify --recompile` checks every program against the compiler; `lazy-cache prune --size 64MiB` and `lazy-cache clear` make
room. Where a file may not grow (`ulimit -f`, a full disk) programs are no longer kept, which costs one line, and all else goes on. On a shared file system the folder may be shared too, by machines with different instruction sets as well: each finds only its own.
)";

}  // namespace

int main() {
  std::cout
      << "# Tuning\n\n"
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
         "is bytes.\nA program that runs with rights its caller does not have (setuid) ignores the caller's "
         "environment, `HOME` included: it sets what it needs from code.\n\n"
         "This page is generated from the registry (`cmake --build build/release --target docs`).\n\n"
      << lazy::config::markdown() << kRecipes << kThreadsAndMemory;
}
