// Shows how far training is: a bar on a terminal, lines in a file.
//
//   training::Progress progress(steps, "training");
//   for (...) {
//     ...                      // forward, backward, update: nothing has run yet
//     progress.update(loss);   // now the step runs
//   }
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "lazy/core/tensor.hpp"

namespace lazy::training {

struct ProgressOptions {
  int64_t every = 10;  // steps from one look at the loss to the next, at least 1
  /// Takes what is shown; none: standard error, of rank 0 alone.
  std::function<void(std::string_view)> write = {};
  /// Says if a bar can be redrawn; unknown: if standard error is a terminal and no `write` is given.
  enum Terminal { unknown, yes, no } terminal = unknown;
  int columns = 0;  // characters that the line has at most; 0: as many as the terminal, asked each time
};

/// Counts steps, and shows rate, loss and the time that is left. On a terminal a line is redrawn, at most ten
/// times a second; otherwise lines are written at each tenth of the way, or, if the total is unknown, when
/// the loss is looked at.
class Progress {
 public:
  /// `total` is the number of steps; 0 if that is unknown. Error for one below 0, and for an `every` below 1.
  explicit Progress(int64_t total, std::string title = "", ProgressOptions options = {},
                    Site s = Site::current());
  Progress(const Progress&) = delete;
  ~Progress();

  /// Counts a step and computes its loss: what is pending with it runs, in one flush. The value is looked at
  /// every n-th time only: between, a device may be ahead. ShapeError unless it has one element.
  void update(const Tensor& loss, Site s = Site::current());
  /// Counts a step whose loss is known.
  void update(double loss);
  /// Writes a line of text, on a terminal above the bar.
  void say(std::string_view text);
  /// Ends the line. The destructor does so, too.
  void finish();

  int64_t step() const noexcept { return step_; }
  /// Returns the loss that was last looked at; NaN before.
  double loss() const noexcept { return loss_; }

 private:
  using Clock = std::chrono::steady_clock;
  void show(bool always);
  /// Returns the line, whose bar has so many characters.
  std::string line(size_t bar) const;

  int64_t total_, step_ = 0;
  std::string title_;
  ProgressOptions options_;
  double loss_;
  Clock::time_point begun_, shown_;
  int64_t tenths_ = 0;  // of the way that were shown
  size_t width_ = 0;    // of the line on the terminal
  bool finished_ = false;
};

}  // namespace lazy::training
