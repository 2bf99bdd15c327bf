// Holds a rank's connection with the others, and what it has done with it. Internal to lazy/distributed.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "jit/backend/buffer.hpp"
#include "jit/calls/call.hpp"
#include "lazy/distributed/engines/engine.hpp"
#include "lazy/distributed/flight_recorder.hpp"
#include "lazy/distributed/in_order.hpp"
#include "lazy/distributed/latecomers.hpp"
#include "support/profile.hpp"

namespace lazy::distributed::detail {

class Collective;

/// Says what a rank is at, for those who wait for it. Plain bytes, the same on all machines of a world.
struct Status {
  uint64_t begun = 0;     // collectives of the rank
  uint64_t sequence = 0;  // of the last one, in its group
  uint8_t waits = 0;      // in the last of them
  uint8_t compiles = 0, left = 0, reserved = 0;
  int32_t kind = 0, group = 0;  // of the last one
  int32_t awaits = -1;          // a rank that has not announced itself there; -1: none is awaited
  int32_t lost = -1;            // the rank that it found gone; -1: none
  char line[108] = {};          // where the user called it
};

/// Holds memory that a collective works on while the program goes on.
struct WorkMemory {
  std::unique_ptr<char[]> host;
  size_t bytes = 0;          // of the host's
  jit::BufferRef of_device;  // in place of it

  char* at() const { return of_device ? static_cast<char*>(of_device->data()) : host.get(); }
};

class Communicator {
 public:
  Communicator(std::unique_ptr<Engine>, double timeout);
  Communicator(const Communicator&) = delete;
  ~Communicator();

  int rank() const { return engine_->rank(); }
  int size() const { return engine_->size(); }
  const char* engine() const { return engine_->name(); }
  bool broken() const;
  /// Says where values are that lie in this memory, as far as the engine knows it.
  Engine::Place place_of(jit::Backend& memory) const { return engine_->place_of(memory); }
  double timeout() const { return timeout_; }
  const FlightRecorder& recorder() const { return recorder_; }

  /// Returns the number of a group of these ranks: as many before it, the world included. Ranks make the same
  /// number of groups; each names the one that it is in.
  int add_group(std::vector<int> ranks);
  /// Returns the ranks of a group. Throws CommunicationError if there is none of this number.
  std::vector<int> members(int group) const;

  /// Runs a collective when all before it are done, and waits.
  void run(Collective&);
  /// Waits for all that have been started, whatever becomes of them.
  void drain() noexcept;
  /// Ends this rank's part in the world.
  void leave() noexcept;
  /// Starts a collective with copies of its operands, and returns its number; wait() gives its results, once.
  uint64_t start(std::unique_ptr<Collective>, const char* const* in);
  void wait(uint64_t number, std::span<const jit::Meta> outputs, char* const* out);
  /// Notes where on a device the number of a collective that was started lies: who waits for it needs not
  /// read it there, for which all that the device was given would have to be done first.
  void note_ticket(const void* at, uint64_t number);
  /// Returns the number that was noted last for this place, if it is still waited for; else 0.
  uint64_t ticket_at(const void* at) const;

  /// Lives as long as a collective runs: numbers it, and has it noted, counted and logged.
  class Flight {
   public:
    Flight(Communicator&, Announcement& own, const std::vector<int>& members);
    Flight(const Flight&) = delete;
    ~Flight();

   private:
    Communicator& all_;
    const Announcement& own_;
    const uint64_t number_;
    const int exceptions_;
    const profile::Ticks start_;
    const int64_t common_;  // the same on all ranks of the collective
  };
  /// Exchanges messages of the collective that is announced. Throws CommunicationError, on all ranks, where
  /// the ranks announce different things, or one is gone or does not come.
  void exchange(const Announcement& own, std::span<const Outgoing>, std::span<const Incoming>);
  /// Asks a device's carrier for the collective that is announced, when all of these ranks are at it. Throws
  /// likewise.
  void ask(const Engine::Place&, const Announcement& own, std::span<const int> ranks, const Engine::Ask&);

  // For those who watch over ranks (watch.hpp), on threads of theirs.
  Status status() const;
  /// Returns what is known of a rank by its last message to this one.
  Status announced_by(int rank) const;
  /// Returns the ranks that this one is waiting for, and sets the number of its collective; none if it isn't.
  std::vector<int> waits_for(uint64_t* number) const;
  /// True while devices exchange, which don't see that another one's process is gone.
  bool at_device() const { return at_device_.load(std::memory_order_relaxed); }
  /// Sets what says why a rank may have closed its connection: a text that goes behind that one.
  void explain_losses(std::function<std::string(int rank)> explain);
  /// Has the exchange that is running fail with this reason. `explain` tells what awaited ranks were doing.
  void give_up(std::string why, std::function<std::string(const std::vector<int>&)> explain);
  /// Has the exchanges of all these ranks of one process fail with this reason.
  static void give_up(std::span<Communicator* const> ranks, const std::string& why);

 private:
  /// Does what the engine is asked for, and says why it failed.
  void guarded(const Announcement& own, std::vector<int> awaited,
               const std::function<void(const CheckAnnouncement&)>&);
  void fail(const std::string& why);
  /// Notes the reason of the exchange's end, unless there is one.
  bool note_reason(std::string why, std::function<std::string(const std::vector<int>&)> explain);
  /// Takes the smallest free memory that will do, else new one. A device's allocator keeps its own.
  WorkMemory take_memory(size_t bytes, jit::Backend* device);
  std::string describe_loss(const PeerLost&);

  std::unique_ptr<Engine> engine_;
  const double timeout_;  // seconds
  mutable std::mutex mutex_;
  std::vector<std::vector<int>> groups_;  // by number; of the world none: all
  std::map<int, uint64_t> sequences_;     // collectives so far, by group; of two ranks alone, by -1 - rank
  std::string broken_;                    // why nothing can be exchanged any more; empty: all is well
  std::string why_;                       // it was given up
  std::function<std::string(const std::vector<int>&)> explain_;
  std::function<std::string(int)> explain_loss_;
  Status status_;
  std::map<int, Announcement> last_of_;  // by rank: what came last
  std::vector<int> waits_for_;
  std::vector<int> unheard_;  // of an exchange: who has not announced itself yet, the first awaited first
  Latecomers latecomers_;
  std::map<uint64_t, std::unique_ptr<Collective>> flying_;
  std::map<uint64_t, WorkMemory> memory_;    // of these
  std::map<const void*, uint64_t> tickets_;  // numbers of these, by where they lie
  std::vector<WorkMemory> free_;  // of those before: pages that are touched anew cost more than a copy
  std::atomic<bool> at_device_{false};
  FlightRecorder recorder_;
  InOrder in_order_;  // ends first: its tasks use what is above
};

/// Returns the calling thread's, else the process's; null in a world of one.
Communicator* communicator() noexcept;

}  // namespace lazy::distributed::detail
