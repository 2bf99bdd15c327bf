// Writes what a training says of itself to files that others read.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/site.hpp"

namespace lazy::training {

/// Takes numbers under names, step by step. Accelerator calls it on the main process alone.
class Tracker {
 public:
  virtual ~Tracker() = default;
  /// Takes what a run was started with, once, before anything else.
  virtual void configure(const std::map<std::string, std::string>& config, Site s) = 0;
  virtual void log(const std::vector<std::pair<std::string, double>>& values, int64_t step, Site s) = 0;
  /// Ends the run. The base does nothing.
  virtual void end(Site) {}
};

/// Returns a tracker that writes event files, which TensorBoard shows, into a folder. IoError.
std::unique_ptr<Tracker> event_tracker(const std::string& folder, Site s = Site::current());
/// Returns a tracker that appends to FOLDER/log.csv lines of step, name and value (17 digits), and writes
/// FOLDER/config.json. IoError.
std::unique_ptr<Tracker> csv_tracker(const std::string& folder, Site s = Site::current());

}  // namespace lazy::training
