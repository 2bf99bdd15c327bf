// Reads the memory of ranks that are processes of the same machine: one copy, where a connection takes two
// and the kernel's work for each segment. Internal to lazy/distributed.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lazy/distributed/engines/meeting.hpp"

namespace lazy::distributed::detail {

class Neighbours {
 public:
  /// Finds out which ranks may read each other's memory; all ranks of the meeting do so at once. Has siblings
  /// and other offspring of this process's parent be allowed to, where the system asks for that (Yama).
  /// CommunicationError if not all ranks come in time.
  Neighbours(Meeting&, Clock::time_point deadline);

  /// True if this rank and that one may read each other's memory.
  bool near(int rank) const { return ranks_[static_cast<size_t>(rank)].near; }
  /// True if all ranks may read each other's: all ranks find the same.
  bool all_near() const { return all_near_; }

  /// Reads what lies at an address of that rank's. PeerLost if it is gone.
  void read(int rank, uint64_t address, void* to, size_t bytes) const;
  /// True if that rank has not given up so far: what was read until now was what it meant to send.
  bool holds(int rank) const;
  /// Says that this rank does not wait any more for others to have read its memory.
  void give_up() noexcept { own_->gives_up.store(1); }

 private:
  /// Is read by the others: tells them that they read this process, and not another one.
  struct Page {
    uint64_t cookie = 0;
    std::atomic<uint64_t> gives_up{0};
  };
  struct Rank {
    pid_t pid = 0;
    uint64_t page = 0, cookie = 0;
    bool near = false;
  };
  bool try_to_read(const Rank&, uint64_t address, void* to, size_t bytes) const noexcept;
  bool is_itself(const Rank&, uint64_t& gives_up) const noexcept;

  std::unique_ptr<Page> own_ = std::make_unique<Page>();
  std::vector<Rank> ranks_;
  bool all_near_ = true;
};

}  // namespace lazy::distributed::detail
