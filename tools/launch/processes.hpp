// Starts processes, reads what they print, and hears whether they are alive. Internal to lazy-launch.
#pragma once
#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace lazy::tool {

using Clock = std::chrono::steady_clock;

/// Is written to standard output each second by a launcher on another host, for the one that started it.
inline constexpr const char* kBeatLine = "\x01lazy-launch beats";
/// The exit status of ranks that end for the world to be made anew (training::ElasticState says so).
inline constexpr int kWorldChanges = 75;

struct Stream {
  int fd = -1;
  bool is_error = false;
  std::string line;  // of which no end has come
};

/// Is a rank, or the launcher of a host's ranks.
struct Process {
  int number = 0;  // the rank's or the host's
  pid_t pid = -1;
  int status = 0;
  bool ended = false;
  bool stopped = false;  // by a signal, since `heard`
  Stream streams[2];
  std::deque<std::string> last;  // lines of its errors
  int beats = -1;                // a socket whose other end is its ELASTIC_HEARTBEAT_FD; -1: it has none
  int input = -1;                // the other end of its standard input; -1: it is this process's
  bool began = false;            // it beats: from then on it is expected to
  bool progresses = false;       // likewise, it commits
  Clock::time_point heard{}, progressed{};  // when it was last heard
};

/// Says what a process gets besides its command.
struct Start {
  bool beats = false;             // a socket for its beats
  bool own_input = false;         // a standard input of its own; else this process's
  std::function<void()> prepare;  // runs in the process before the command
};
/// Starts a command, whose output this process reads, as a process group of its own that is killed when this
/// process ends. std::runtime_error where the system has no more.
void start(Process&, const std::vector<std::string>& command, const Start&);
/// Waits a moment for output and beats, and passes whole lines on, behind the numbers where `prefix`.
void listen(std::vector<Process>&, bool prefix);
/// Notices a process that has ended, or was stopped. True if it has ended now.
bool look_at(Process&, bool prefix);
/// Sends a signal to all groups that have not ended; what is stopped goes on, to hear it.
void tell(const std::vector<Process>&, int signal);
/// Kills what is left of the groups, and closes what was open.
void clear(std::vector<Process>&);
/// Tells a process that the world is to be made anew.
void announce_change(Process&);

int exit_status(int status);        // of waitpid's: 128 and the signal's number if it was one
std::string how_ended(int status);  // "ended with status 3"
int free_port();

/// Has SIGINT, SIGTERM and SIGHUP be remembered; returns the last one; 0: none.
void hear_signals();
int asked_to_end();
void ask_to_end(int signal);

}  // namespace lazy::tool
