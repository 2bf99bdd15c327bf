#include "tools/launch/cores.hpp"

#include <sched.h>

#include <cstddef>

namespace lazy::tool {
namespace {

constexpr int kMost = 8192;  // processors that a kernel may have

}  // namespace

Cores cores_here() {
  Cores cores;
  cpu_set_t* const set = CPU_ALLOC(kMost);
  if (set && ::sched_getaffinity(0, CPU_ALLOC_SIZE(kMost), set) == 0)
    for (int c = 0; c < kMost; ++c)
      if (CPU_ISSET_S(static_cast<size_t>(c), CPU_ALLOC_SIZE(kMost), set)) cores.push_back(c);
  if (set) CPU_FREE(set);
  if (cores.empty()) cores.push_back(0);
  return cores;
}

Cores share_of(const Cores& all, int rank, int ranks) {
  const auto n = static_cast<int>(all.size());
  if (n < ranks) return {};
  const int each = n / ranks, more = n % ranks;
  const int begin = rank * each + (rank < more ? rank : more);
  return Cores(all.begin() + begin, all.begin() + begin + each + (rank < more));
}

void bind_to(const Cores& cores) {
  if (cores.empty()) return;
  cpu_set_t* const set = CPU_ALLOC(kMost);
  if (!set) return;
  CPU_ZERO_S(CPU_ALLOC_SIZE(kMost), set);
  for (const int c : cores) CPU_SET_S(static_cast<size_t>(c), CPU_ALLOC_SIZE(kMost), set);
  (void)::sched_setaffinity(0, CPU_ALLOC_SIZE(kMost), set);  // a sandbox may forbid it; ranks then share
  CPU_FREE(set);
}

}  // namespace lazy::tool
