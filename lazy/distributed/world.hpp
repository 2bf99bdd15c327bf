// Gives each rank its place in a world, and runs what ranks do together.
//
//   distributed::init();                              // by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT
//   distributed::run_ranks(4, [] { ... });            // or: four ranks as threads of this process
//   std::printf("%d of %d\n", distributed::rank(), distributed::world_size());
//
// All ranks do the same things together in the same order; each exchange begins with a check of that, so what
// differs is an error on every rank, which names both lines, and no hang. Sums are in the order of the ranks,
// whatever is sent how, so all ranks have the same bits, and runs repeat to the bit.
//
// LAZY_COMM says what connects processes. Under mpirun, with LAZY_COMM=mpi, ranks are MPI's and nothing else
// need be set. A rank that has been stopped, or whose machine is gone, is an error for those that wait for it
// after LAZY_COMM_SILENCE seconds; one that is alive but does not come, after LAZY_COMM_TIMEOUT.
#pragma once
#include <functional>
#include <string>

#include "support/site.hpp"

namespace lazy::distributed {

/// Says where the ranks of a world meet.
struct InitOptions {
  int rank = -1, world_size = -1;  // -1: of RANK and WORLD_SIZE; without these a world of one
  std::string host = {};           // of rank 0; empty: MASTER_ADDR, or 127.0.0.1
  int port = 0;                    // of rank 0; 0: MASTER_PORT, or 29500
  std::string file = {};  // that all ranks see, and that is not there yet: in the place of host and port
  double timeout = 0;     // seconds that a rank waits for others; 0: LAZY_COMM_TIMEOUT
};

/// Connects this process with the others of its world. Error if it is connected already, or if the numbers
/// make no sense; CommunicationError if not all are there in time, or if the engine that LAZY_COMM names
/// can't be used.
void init(const InitOptions& options = {}, Site = Site::current());
/// Leaves the world. Effects that are still pending are run before, unless ranks can't exchange any more.
void finalize(Site = Site::current());
/// True in a world of more than one, and after init().
bool is_initialized() noexcept;

int rank() noexcept;  // 0 without a world
int world_size() noexcept;
inline bool is_main_process() noexcept { return rank() == 0; }
/// Returns what connects the ranks, "memory", "tcp", "gloo", "mpi" or "threads"; "none" in a world of one.
const char* engine() noexcept;
/// Returns the last collectives of this rank as JSON, at most 1,000, the latest last: number, group, kind,
/// dtype, elements, line, and microseconds of its begin and end since the world began. Where ranks fail each
/// other this is written to LAZY_DUMP_DIR, if that is set, as collectives_<rank>.json.
std::string recent_collectives();

/// Runs f on as many threads, each a rank of a world of its own with its own graph, and returns when all
/// have ended. They draw from one default generator: give each its own. Throws what the first rank, by
/// number, threw. They share the threads that kernels run on.
void run_ranks(int count, const std::function<void()>& f, double timeout = 60, Site = Site::current());

}  // namespace lazy::distributed
