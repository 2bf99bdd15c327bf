// Runs one case on several backends.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jit/backend/backend.hpp"
#include "tests/differential/memory.hpp"

namespace lazy::test {

/// Names a way to run kernels.
struct Contestant {
  std::string name;
  std::function<std::unique_ptr<jit::Kernel>(const jit::loop::LoopKernel&)> compile;
  std::function<void()> prepare = [] {};  // called before a launch: sets the number of threads
};

/// Values may differ by so many units in the last place; 0: every bit counts, except a NaN's payload.
struct Tolerance {
  double float32_ulps = 0, float64_ulps = 0;
};

/// True if kernels like this one are selected: LAZY_TEST_FORM is how its text begins, LAZY_TEST_SKIP is not
/// in it.
bool wanted(const Case&);

/// Runs the case on the oracle and on each contestant, compares outputs with all bytes around them. Returns
/// what differed, or an empty string.
std::string trial(const Case&, const Contestant& oracle, const std::vector<Contestant>&,
                  const Tolerance& = {});

/// Runs f in a child process and returns what it returned, or how the process ended.
std::string in_child(const std::function<std::string()>& f);
/// Runs f(first), f(first + 1), ... in child processes until one returns a text or crashes. Returns the index
/// (`last` if none did) and the text.
struct Failure {
  uint64_t index;
  std::string text;
};
Failure first_failure(uint64_t first, uint64_t last, const std::function<std::string(uint64_t)>& f);

/// Returns the smallest case that still fails, found by greedy steps.
Case shrink(Case, const std::function<std::string(const Case&)>& failing);

}  // namespace lazy::test
