// Runs a program as several processes, the ranks of a world, and ends them together.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace lazy::tool {

/// Says which ranks are started here, and where all meet.
struct Launch {
  std::vector<std::string> command;
  int processes = 1;              // ranks on this machine
  int machines = 1, machine = 0;  // of the world, each with as many ranks
  std::string host = "127.0.0.1";
  int port = 0;              // 0: a free one, on one machine
  int threads = 0;           // of each rank; 0: the cores of this machine divided among them
  bool prefix = true;        // "[1] " before each line of rank 1
  bool bind = true;          // each rank to cores of its own, where there are at least as many as ranks
  bool watch_stdin = false;  // ends the ranks as SIGTERM does when standard input ends
  std::string profile;  // a trace of each rank is written to it, its number before the extension; empty: none
  std::vector<std::pair<std::string, std::string>> variables;  // more of the ranks' environment
};

/// Starts `commands` side by side, one for each machine, with a standard input that lasts as long as this
/// process, and returns as run_ranks() does.
int run_machines(const std::vector<std::vector<std::string>>& commands);
/// Starts the ranks with RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in their
/// environments, passes their output and the signals SIGINT, SIGTERM and SIGHUP on, and returns when all have
/// ended: 0, or the status of the first rank that failed, whose last lines are shown again. When a rank fails
/// the others are asked to end, and killed 5 seconds later.
int run_ranks(const Launch&);

}  // namespace lazy::tool
