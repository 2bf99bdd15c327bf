// Gives each rank its place in a world, and runs what ranks do together.
//
//   distributed::init();                                   // by RANK, WORLD_SIZE, MASTER_ADDR and
//   MASTER_PORT distributed::run_ranks(4, [] { ... });                 // or: four ranks as threads of this
//   process std::printf("%d of %d\n", distributed::rank(), distributed::world_size());
//
// All ranks do the same things together in the same order; each exchange begins with a check of that, so what
// differs is an error on every rank, which names both lines, and no hang. Sums are in the order of the ranks,
// whatever is sent how, so all ranks have the same bits, and runs repeat to the bit.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "lazy/distributed/engine.hpp"
#include "support/site.hpp"

namespace lazy::distributed {

/// Says where the ranks of a world meet.
struct InitOptions {
  int rank = -1, world_size = -1;  // -1: of RANK and WORLD_SIZE; without these a world of one
  std::string host = {};           // of rank 0; empty: MASTER_ADDR, or 127.0.0.1
  int port = 0;                    // of rank 0; 0: MASTER_PORT, or 29500
  double timeout = 0;              // seconds that a rank waits for others; 0: LAZY_COMM_TIMEOUT
};

/// Connects this process with the others of its world. Error if it is connected already, or if the numbers
/// make no sense; CommunicationError if not all are there in time.
void init(const InitOptions& options = {}, Site = Site::current());
/// Leaves the world. Effects that are still pending are run before, unless ranks can't exchange any more.
void finalize(Site = Site::current());
/// True in a world of more than one, and after init().
bool is_initialized() noexcept;

int rank() noexcept;  // 0 without a world
int world_size() noexcept;
inline bool is_main_process() noexcept { return rank() == 0; }

/// Runs f on as many threads, each a rank of a world of its own with its own graph and generator, and returns
/// when all have ended. Throws what the first rank, by number, threw. They share the threads that kernels run
/// on.
void run_ranks(int count, const std::function<void()>& f, double timeout = 60, Site = Site::current());

namespace detail {

/// Holds a rank's connection, and what it has done with it.
class Communicator {
 public:
  Communicator(std::unique_ptr<Engine> engine, double timeout)
      : engine_(std::move(engine)), timeout_(timeout) {}
  int rank() const { return engine_->rank(); }
  int size() const { return engine_->size(); }
  bool broken() const { return !broken_.empty(); }
  /// Exchanges messages of the collective that is announced, whose sequence this sets: `first` for the first
  /// exchange of one. Throws CommunicationError, on all ranks, where the ranks announce different things.
  void exchange(Announcement& own, bool first, std::span<const Outgoing>, std::span<const Incoming>);

 private:
  std::unique_ptr<Engine> engine_;
  double timeout_;  // seconds
  uint64_t collectives_ = 0;
  std::string broken_;  // why nothing can be exchanged any more; empty: all is well
};

/// Returns the calling thread's, else the process's; null in a world of one.
Communicator* communicator() noexcept;

}  // namespace detail
}  // namespace lazy::distributed
