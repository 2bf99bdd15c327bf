#include "backends/cpu/memory/memory_limit.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>

#include "support/cgroup.hpp"

namespace lazy::cpu_backend {
namespace {

uint64_t of_machine() noexcept {
  const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(bytes) : ~uint64_t{0};
}

/// Returns the limit of the control groups. A file without a number ("max") or a missing one sets none.
uint64_t of_groups() {
  uint64_t least = ~uint64_t{0};
  for (const std::string& folder : cgroup_folders("memory"))
    for (const char* name : {"/memory.max", "/memory.high", "/memory.limit_in_bytes"})
      if (uint64_t n = 0; std::ifstream(folder + name) >> n) least = std::min(least, n);
  return least;
}

uint64_t own(int resource) noexcept {
  rlimit r{};
  return getrlimit(static_cast<__rlimit_resource>(resource), &r) == 0 && r.rlim_cur != RLIM_INFINITY
             ? r.rlim_cur
             : ~uint64_t{0};
}

constinit std::atomic<uint64_t> given{0};  // the machine's and the groups' limit; 0: not read yet

}  // namespace

uint64_t memory_limit() noexcept {
  uint64_t least = given.load(std::memory_order_relaxed);
  if (least == 0) {
    least = of_machine();
    try {
      least = std::max<uint64_t>(1, std::min(least, of_groups()));
      given.store(least, std::memory_order_relaxed);
    } catch (...) {}  // no memory to read them: tried again next time
  }
  return std::min({least, own(RLIMIT_AS), own(RLIMIT_DATA)});
}

}  // namespace lazy::cpu_backend
