#include "steps.hpp"

#include <unistd.h>

#include <cstdio>

namespace demo {

lazy::training::ProgressOptions on_standard_output() {
  using Options = lazy::training::ProgressOptions;
  const auto write = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  return {.write = write, .terminal = ::isatty(STDOUT_FILENO) ? Options::yes : Options::no};
}

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
