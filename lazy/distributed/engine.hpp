// Moves messages between ranks. An engine is all that a way of communicating has to provide; what is sent, in
// which order sums are, and what is checked are the communicator's (communicator.hpp).
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lazy::distributed {

/// Says what a rank is doing: each message begins with it, so that ranks which do different things find out
/// before any data counts. Plain bytes, the same on all machines of a world.
struct Announcement {
  uint64_t sequence = 0;  // collectives of the rank before this one
  uint64_t elements = 0;  // of all operands of the rank
  uint64_t bytes = 0;     // of the message behind this
  int32_t kind = 0, dtype = 0, reduction = 0, root = 0;
  char line[100] = {};  // the user's, "train.cpp:17", cut
};

struct Outgoing {
  int to;
  const void* data;
  size_t bytes;
};
struct Incoming {
  int from;
  void* data;
  size_t bytes;
};

using Clock = std::chrono::steady_clock;

/// Connects one rank with the others. Used by one thread at a time.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const char* name() const = 0;  // for people: "threads", "tcp"
  /// Sends and receives all these messages, at most one to and one from each rank, and returns when both are
  /// done. `check` gets what each sender announced, before its data is taken, and throws if that is wrong.
  /// CommunicationError if a rank is gone, if another one failed, or at the deadline; then no exchange is
  /// possible any more.
  virtual void exchange(const Announcement& own, std::span<const Outgoing> out, std::span<const Incoming> in,
                        const std::function<void(int from, const Announcement&)>& check,
                        Clock::time_point deadline) = 0;
};

/// Returns as many engines, of the threads of one process.
std::vector<std::unique_ptr<Engine>> thread_engines(int size);

/// Connects the processes of a world by TCP: rank 0 listens at host:port, tells all where the others are, and
/// each connects to each. CommunicationError if not all are there in time.
std::unique_ptr<Engine> tcp_engine(const std::string& host, int port, int rank, int size,
                                   Clock::time_point deadline);

}  // namespace lazy::distributed
