// Tells of one flush whoever asked: a listener, LAZY_LOG=flush, miss and memory, the recording of a profile.
// A flush that nobody asks about pays for a few loads and branches.
#pragma once
#include <chrono>
#include <memory>

#include "jit/flush/folds.hpp"
#include "jit/key/captured_graph.hpp"
#include "jit/key/report.hpp"
#include "jit/observe/profile.hpp"
#include "support/site.hpp"

namespace lazy::jit {

/// Adds what the program says of itself.
void add_program(FlushReport&, const Program&, const CapturedGraph&);

class FlushReporting {
 public:
  /// Begins when the flush does.
  FlushReporting(Cause cause, const Node& wanted, const Site& site);

  /// Nodes were taken, whose component began to be recorded at `first_op`.
  void taken(profile::Ticks first_op) noexcept;
  /// Returns where rewrites of this flush are to be noted; null if nobody reads them.
  Folds* folds() noexcept { return told() ? &folds_ : nullptr; }
  /// The key is encoded. Makes the report, if somebody wants it: that costs as much as a small flush's key.
  void keyed();
  /// Returns where the search for a program notes what it found; null if nobody reads it.
  FlushReport* report() noexcept { return report_.get(); }
  /// True if this flush's phases get time stamps.
  bool phases_timed() const noexcept { return phases_timed_; }
  /// A program was found, or compiled.
  void found() noexcept {
    if (times_.start) times_.ready = report_->hit ? report_->checked : profile::now();
  }
  /// The program is about to run for these values.
  void runs(const Program& p, const CapturedGraph& f, const Backend& backend) {
    if (told()) add_program(*report_, p, f);
    if (times_.start) event::runs(cause_, site_, backend);
  }
  /// The flush ends with the exception that is being handled.
  void failed() const noexcept;
  /// Values are there.
  void computed(const Program& p) {
    if (times_.start) event::flush(times_, *report_, cause_, site_, p);
    if (told()) stop();
  }
  /// Prints what the log is to have, and hands the report to the listener. Comes after computed().
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  bool told() const noexcept { return listener_ || logged_; }
  void stop() noexcept;

  const Cause cause_;
  const Site recorded_;  // the line of what is needed
  const Site& site_;
  FlushListener* const listener_;
  const bool logged_;  // to the flush channel
  bool phases_timed_ = false;
  FlushTimes times_;
  Clock::time_point start_;  // set if told()
  Folds folds_;
  std::unique_ptr<FlushReport> report_;
};

/// Reports the first run of what a replay recorded on one device.
class ReplayReporting {
 public:
  /// True if somebody listens.
  static bool wanted();
  ReplayReporting(const Site&, const Folds&);
  /// Returns where the search for a program notes what it found.
  FlushReport* report() noexcept { return &report_; }
  /// A program was found: prints what the log is to have, and hands the report to the listener.
  void finish(const Program&, const CapturedGraph&);

 private:
  FlushReport report_;
};

}  // namespace lazy::jit
