// Makes engines. Internal to lazy/distributed.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lazy/distributed/engines/engine.hpp"
#include "lazy/distributed/engines/meeting.hpp"
#include "lazy/distributed/engines/neighbours.hpp"

namespace lazy::distributed::detail {

/// Returns as many engines, of the threads of one process.
std::vector<std::unique_ptr<Engine>> thread_engines(int size);

/// Connects those that have met by TCP. CommunicationError if one does not come in time. With `neighbours`,
/// ranks that may read each other's memory do so for what is long.
std::unique_ptr<Engine> tcp_engine(Meeting& meeting, Clock::time_point deadline,
                                   std::unique_ptr<Neighbours> neighbours = nullptr);

/// Returns an engine that carries messages between devices' memory by their own carriers, and all others by
/// `host`, by which ranks also agree about what they do.
std::unique_ptr<Engine> device_engine(std::unique_ptr<Engine> host, std::string name);

/// Returns whether the shared object of an engine of others is there and can be opened: "gloo", "mpi". If
/// not, `why` is set.
bool has_plugin(const std::string& name, std::string* why);
/// Connects those that have met by such an engine. CommunicationError with the reason if it can't.
std::unique_ptr<Engine> plugin_engine(const std::string& name, Meeting& meeting, Clock::time_point deadline);
/// Meets by means of an engine whose launcher says who is who.
Meeting meet_by_plugin(const std::string& name, Clock::time_point deadline);
/// Asks such an engine for rank and size, without meeting anybody.
std::pair<int, int> place_by_plugin(const std::string& name);

}  // namespace lazy::distributed::detail
