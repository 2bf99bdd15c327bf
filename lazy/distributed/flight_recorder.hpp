// Keeps the last collectives of a rank, to be written where ranks fail each other. Internal to
// lazy/distributed.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "lazy/distributed/engines/engine.hpp"

namespace lazy::distributed::detail {

class FlightRecorder {
 public:
  static constexpr size_t kMost = 1000;
  /// Notes a collective that begins, and returns its number.
  uint64_t begin(const Announcement&);
  /// Notes its end, and returns the nanoseconds that it took.
  uint64_t end(uint64_t number, bool good);
  /// Returns what is kept, as JSON.
  std::string text(int rank, int size, const char* engine) const;
  /// Writes it to LAZY_DUMP_DIR; if that is not set, to standard error where somebody `asked` for it.
  void write(int rank, int size, const char* engine, bool asked = false) const noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  struct Flight {
    Announcement what;
    Clock::time_point begin, end;
    enum class State : uint8_t { running, done, failed } state = State::running;
  };
  mutable std::mutex mutex_;
  const Clock::time_point start_ = Clock::now();
  std::array<Flight, kMost> flights_;  // number n is at n % kMost
  uint64_t count_ = 0;
};

/// Returns text such as "all_reduce of 3 x float32, sum, its number 5, at train.cpp:17".
std::string describe(const Announcement&);

}  // namespace lazy::distributed::detail
