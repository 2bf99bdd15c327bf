// Says, for reports, that what a thread records updates a model. Internal to lazy/.
#pragma once

namespace lazy::detail {

/// Marks what the calling thread records, as long as it lives.
class Updating {
 public:
  Updating() noexcept { ++depth_; }
  Updating(const Updating&) = delete;
  ~Updating() { --depth_; }
  static bool now() noexcept { return depth_ > 0; }

 private:
  static inline constinit thread_local int depth_ = 0;
};

}  // namespace lazy::detail
