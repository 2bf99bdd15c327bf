// Runs a program as several processes, the ranks of a world, and ends them together.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tools/launch/processes.hpp"

namespace lazy::tool {

/// Says which ranks are started here, and where all meet.
struct Launch {
  std::vector<std::string> command;
  int processes = 1;              // ranks on this machine
  int machines = 1, machine = 0;  // of the world, each with as many ranks
  std::string host = "127.0.0.1";
  int port = 0;        // 0: a free one, on one machine
  int threads = 0;     // of each rank; 0: the cores of this machine divided among them
  bool prefix = true;  // "[1] " before each line of rank 1
  bool bind = true;    // each rank to cores and GPUs of its own, where there are at least as many as ranks
  bool watch_stdin = false;  // ends the ranks as SIGTERM does when standard input ends
  std::string profile;  // a trace of each rank is written to it, its number before the extension; empty: none
  double heartbeat = 0;  // seconds that a rank that beats may be silent; 0: for ever
  double progress = 0;   // seconds between commits of a rank; 0: any
  bool beat = false;     // tells who started this that it lives, and hears of changes
  int first = -1;        // this machine's first rank; -1: as all machines have as many
  int world = 0;         // ranks of all machines; 0: likewise
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

/// Starts the ranks of a launch.
std::vector<Process> start_ranks(const Launch&);

/// Says how processes are waited for.
struct Watch {
  bool prefix = true;        // numbers before lines
  bool watch_stdin = false;  // the end of standard input ends them; an 'r' there is an announced change
  bool beat = false;         // writes kBeatLine each second
  bool quiet = false;        // does not say which one failed
  const char* member = "rank";
  double heartbeat = 0;                // seconds that one which beats may be silent, or stopped; 0: for ever
  double progress = 0;                 // seconds between commits of one which commits; 0: any
  double grace = 5;                    // seconds from the request to end until the end
  std::function<bool()> changes = {};  // true: the world is to be made anew, which processes are told once
};
struct Outcome {
  int status = 0;          // 0: all have ended well
  int failed = -1;         // the place of the first one that failed; -1: none, or they were asked to end
  std::string how;         // it did
  bool signalled = false;  // this process was asked to end
  bool changed = false;    // they ended after the announcement of a change
};
/// Waits for all. When one fails, or is late, the others are ended.
Outcome wait_for(std::vector<Process>& all, const Watch&);

}  // namespace lazy::tool
