// Counts for whom a rank waits in its exchanges, and says so where one rank keeps the others waiting
// (LAZY_HINTS). Internal to lazy/distributed.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace lazy::distributed::detail {

/// Is told of a rank's collectives one after the other, by one thread at a time.
class Latecomers {
 public:
  /// Notes that a collective of one rank among so many begins, at the user's `line`.
  void begins(int rank, int ranks, const char* line);
  /// Notes that the last of those who were awaited has come.
  void came(int from);
  /// Notes that the collective is over. Now and then gives the hint that is due.
  void ends() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  struct Waited {
    uint64_t ns = 0, longest = 0;
    std::string line;  // at which the longest wait was
  };
  void look();

  int rank_ = 0;
  const char* line_ = "";
  bool waits_ = false;  // nobody was the last to come so far
  Clock::time_point begin_, since_ = Clock::now();
  std::vector<Waited> for_;  // by rank, since since_
  uint64_t count_ = 0, next_ = 64;
  int late_ = -1;  // who was late at the look before
};

}  // namespace lazy::distributed::detail
