// Keeps gradients from being exchanged for a while.
#pragma once

namespace lazy::distributed {

/// Has backward() of what trains on many ranks leave gradients as they are, this rank's, until it ends: they
/// add up over several batches, and the next backward() outside takes the mean of the sums.
template <class Training>
class NoSyncScope {
 public:
  explicit NoSyncScope(Training& t) : paused_(t.paused_), outer_(t.paused_) { paused_ = true; }
  NoSyncScope(const NoSyncScope&) = delete;
  ~NoSyncScope() { paused_ = outer_; }

 private:
  bool& paused_;
  const bool outer_;
};

}  // namespace lazy::distributed
