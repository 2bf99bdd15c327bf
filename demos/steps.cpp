#include "steps.hpp"

#include <cstdio>

namespace demo {

void Steps::count(const lazy::Metrics& before, const lazy::Metrics& after) {
  constexpr uint64_t kFirst = 2;  // steps that may compile
  flushes_ += after.flushes - before.flushes;
  if (++steps_ > kFirst) programs_ += after.program_misses - before.program_misses;
}

void Steps::report() const {
  const double each = steps_ ? static_cast<double>(flushes_) / static_cast<double>(steps_) : 0;
  std::printf("%llu steps: %g flush%s a step, %llu programs compiled from step 3 on\n",
              static_cast<unsigned long long>(steps_), each, each == 1 ? "" : "es",
              static_cast<unsigned long long>(programs_));
  std::fflush(stdout);
}

}  // namespace demo
