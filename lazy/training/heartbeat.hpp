// Tells the launcher that this process lives, and hears from it that the world is to be made anew. Internal
// to lazy/training.
#pragma once
#include <atomic>

namespace lazy::training::detail {

/// Has a thread that writes a byte to the socket of ELASTIC_HEARTBEAT_FD twice a second. Without that
/// variable, or with the number of a socket that is not this one, it does nothing.
class Heartbeat {
 public:
  /// Returns the process's, which begins with the first call. When the launcher is gone, so is the process.
  static Heartbeat& of_process();
  /// Says that something was committed.
  void progressed();
  /// True once the launcher has said that there are other slots.
  bool change_announced() const { return change_; }

 private:
  Heartbeat();
  void run();
  int fd_ = -1;
  std::atomic<bool> change_{false};
};

}  // namespace lazy::training::detail
