// Shares between the demos that learn: what their steps cost.
#pragma once
#include <lazy/lazy.hpp>
#include <lazy/training/progress.hpp>

namespace demo {

/// Returns options by which progress goes to standard output.
lazy::training::ProgressOptions on_standard_output();

/// Counts flushes and new programs of the steps of a loop.
class Steps {
 public:
  /// Runs one step.
  template <class F>
  void run(F&& step) {
    const lazy::Metrics before = lazy::metrics();
    step();
    count(before, lazy::metrics());
  }
  /// Prints "400 steps: 1 flush a step, 0 programs compiled from step 3 on".
  void report() const;

 private:
  void count(const lazy::Metrics& before, const lazy::Metrics& after);

  uint64_t steps_ = 0, flushes_ = 0;
  uint64_t programs_ = 0;  // new ones, from the third step on
};

}  // namespace demo
