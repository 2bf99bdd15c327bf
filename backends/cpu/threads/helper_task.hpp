// Runs a helper as a task of TBB's. In a file of its own, which tests/tsan.supp names: ThreadSanitizer
// doesn't see that a task is read after it was written, for Debian's TBB is built without it.
#pragma once
#include <cstdint>

namespace lazy::cpu_backend {

template <class Team>
struct HelperTask {
  Team* team;
  int64_t helper;
  void operator()() const { team->help(helper); }
};

}  // namespace lazy::cpu_backend
