// Watches over the ranks of a world, so that one that waits for another that will not come fails with the
// reason in the place of waiting for ever. Each rank says twice a second what it is at; rank 0 tells all.
// A rank that has been stopped, or lost with its machine, says nothing. Internal to lazy/distributed.
#pragma once
#include <memory>
#include <vector>

#include "lazy/distributed/communicator.hpp"
#include "lazy/distributed/engines/meeting.hpp"

namespace lazy::distributed::detail {

class Watch {
 public:
  virtual ~Watch() = default;
};

/// Watches over the process's rank by the connections of the meeting, until it is destroyed: then it tells
/// the others that this rank has left. silence: seconds after which a rank of which nothing is heard is lost;
/// 0: never.
std::unique_ptr<Watch> watch_processes(Communicator& own, Meeting meeting, double silence);
/// Watches over ranks that are threads.
std::unique_ptr<Watch> watch_threads(std::vector<Communicator*> ranks);

}  // namespace lazy::distributed::detail
