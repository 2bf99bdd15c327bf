// Moves messages between ranks. An engine is all that a way of communicating has to provide; what is sent, in
// which order sums are, what is checked and how long is waited are the communicator's (communicator.hpp).
// Engines that need a library of others are shared objects of their own (plugin.hpp), so this header needs
// none of the library's.
#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lazy::jit {
class Backend;
class Carrier;
}  // namespace lazy::jit

namespace lazy::distributed {

/// Says what a rank is doing: each message begins with it, so that ranks which do different things find out
/// before any data counts. Plain bytes, the same on all machines of a world.
struct Announcement {
  uint64_t sequence = 0;  // of the group: collectives of the rank before this one
  uint64_t elements = 0;  // of all operands of the rank
  uint64_t shapes = 0;    // a hash of the operands' shapes
  uint64_t members = 0;   // a hash of the group's ranks
  uint64_t bytes = 0;     // of the message
  uint64_t address = 0;   // in the sender's memory, where the receiver is to read it; 0: it follows
  int32_t kind = 0, dtype = 0, reduction = 0, root = 0, group = 0;
  // 0: the values are in the host's memory; n: on the rank's n-th device, which adds them up itself if kAdds
  // is added to it.
  int32_t place = 0;
  static constexpr int32_t kAdds = 1 << 16;
  char line[96] = {};  // the user's, "train.cpp:17", cut
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

/// Is thrown by an exchange that was stopped: says who was still awaited.
class Stopped : public std::exception {
 public:
  explicit Stopped(std::vector<int> ranks) : awaited(std::move(ranks)) {}
  const char* what() const noexcept override { return "stopped"; }
  std::vector<int> awaited;
};

/// Is thrown if a rank is gone: its connection is closed, or it failed.
class PeerLost : public std::exception {
 public:
  PeerLost(int peer, std::string text) : rank(peer), text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  int rank;

 private:
  std::string text_;  // "rank 2 closed its connection"
};

/// Is asked about what each sender announced, before its data is taken, and throws if that is wrong.
using CheckAnnouncement = std::function<void(int from, const Announcement&)>;
/// Has an announcement that came from another machine checked, and how much data follows.
inline void hear(Announcement& theirs, const Incoming& expected, const CheckAnnouncement& check) {
  theirs.line[sizeof theirs.line - 1] = 0;
  check(expected.from, theirs);
  if (theirs.bytes != expected.bytes)
    throw std::runtime_error("rank " + std::to_string(expected.from) + " sends " +
                             std::to_string(theirs.bytes) + " bytes where " + std::to_string(expected.bytes) +
                             " are expected");
}

/// Connects one rank with the others. Used by one thread at a time, but for stop().
class Engine {
 public:
  virtual ~Engine() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const char* name() const = 0;  // for people: "threads", "tcp"
  /// Sends and receives all these messages, at most one to and one from each rank, and returns when both are
  /// done. PeerLost if a rank is gone, Stopped after stop(); then no exchange is possible any more.
  virtual void exchange(const Announcement& own, std::span<const Outgoing> out, std::span<const Incoming> in,
                        const CheckAnnouncement& check) = 0;
  /// Has the exchange that is running, and all later ones, throw Stopped soon. Any thread may call it.
  virtual void stop() noexcept = 0;
  /// Says that this rank takes part in nothing any more: others that wait for it get PeerLost.
  virtual void leave() noexcept {}

  /// Says where a rank's values are that lie in a device's memory, and what carries them from there.
  struct Place {
    jit::Carrier* carrier = nullptr;  // null: the engine carries from the host's memory alone
    int32_t number = 0;               // Announcement::place
  };
  virtual Place place_of(jit::Backend&) { return {}; }
  using Ask = std::function<void(jit::Carrier&, int connection)>;
  /// Has ranks agree on what they do, as exchange() has, connects them by the place's carrier when they are
  /// there for the first time, numbered in this order, and asks it for what is to be done. Each of the ranks
  /// calls it.
  virtual void ask_at(const Place&, const Announcement& /*own*/, std::span<const int> /*ranks*/,
                      const CheckAnnouncement&, const Ask&) {}
};

/// Gives each rank, while a world is made, what every rank has: one text of each, by rank.
using Gather = std::function<std::vector<std::string>(const std::string& own)>;

}  // namespace lazy::distributed
