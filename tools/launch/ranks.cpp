#include "tools/launch/ranks.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>

#include "tools/launch/cores.hpp"

namespace lazy::tool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kGrace = std::chrono::seconds(5);  // from the request to end until the end
constexpr size_t kLastLines = 20;

volatile sig_atomic_t asked_to_end = 0;

struct Stream {
  int fd = -1;
  bool is_error = false;
  std::string line;  // of which no end has come
};
struct Rank {
  int number = 0;
  pid_t pid = -1;
  int status = 0;
  bool ended = false;
  Stream streams[2];
  std::deque<std::string> last;  // lines of its errors
};

int free_port() {
  const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET, a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t n = sizeof a;
  int port = 29500;
  if (s >= 0 && ::bind(s, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0 &&
      ::getsockname(s, reinterpret_cast<sockaddr*>(&a), &n) == 0)
    port = ntohs(a.sin_port);
  if (s >= 0) ::close(s);
  return port;
}

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

/// Returns "trace.rank3.json" of "trace.json".
std::string profile_of(const std::string& file, int rank) {
  const size_t dot = file.find_last_of("./");
  const size_t at = dot == std::string::npos || file[dot] == '/' ? file.size() : dot;
  return file.substr(0, at) + ".rank" + std::to_string(rank) + file.substr(at);
}

/// Gives this process what a rank finds: its cores and its environment.
void become(const Rank& rank, int local, const Launch& l, int port) {
  const Cores cores = cores_here();
  const int threads = l.threads ? l.threads : std::max(1, static_cast<int>(cores.size()) / l.processes);
  if (l.bind) bind_to(share_of(cores, local, l.processes));
  set("RANK", std::to_string(rank.number)), set("LOCAL_RANK", std::to_string(local));
  set("WORLD_SIZE", std::to_string(l.processes * l.machines));
  set("LOCAL_WORLD_SIZE", std::to_string(l.processes));
  set("MASTER_ADDR", l.host), set("MASTER_PORT", std::to_string(port));
  if (l.threads || !std::getenv("LAZY_NUM_THREADS")) set("LAZY_NUM_THREADS", std::to_string(threads));
  for (const auto& [name, value] : l.variables) set(name.c_str(), value);
  if (!l.profile.empty()) set("LAZY_PROFILE", profile_of(l.profile, rank.number));
}

[[noreturn]] void execute(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& w : command) words.push_back(const_cast<char*>(w.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  std::fprintf(stderr, "lazy-launch: can't run %s: %s\n", words[0], std::strerror(errno));
  ::_exit(127);
}

/// Starts a command whose output this process reads. `input`: its standard input; -1: as this process's.
template <class Prepare>
void start(Rank& rank, const std::vector<std::string>& command, int input, const Prepare& prepare) {
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) || ::pipe2(err, O_CLOEXEC)) {
    std::perror("lazy-launch: pipe");
    std::exit(1);
  }
  const pid_t parent = ::getpid();
  rank.pid = ::fork();
  if (rank.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody is left behind where this is killed
    if (::getppid() != parent) ::_exit(1);
    ::setpgid(0, 0);
    if (input >= 0) ::dup2(input, STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    prepare();
    execute(command);
  }
  if (rank.pid < 0) {
    std::perror("lazy-launch: fork");
    std::exit(1);
  }
  ::close(out[1]), ::close(err[1]);
  rank.streams[0] = {out[0], false, {}}, rank.streams[1] = {err[0], true, {}};
  for (Stream& s : rank.streams) ::fcntl(s.fd, F_SETFL, O_NONBLOCK);
}

void print(Rank& rank, const Stream& s, const std::string& line, bool prefix) {
  std::FILE* const to = s.is_error ? stderr : stdout;
  if (prefix) std::fprintf(to, "[%d] %s\n", rank.number, line.c_str());
  else std::fprintf(to, "%s\n", line.c_str());
  std::fflush(to);
  if (!s.is_error) return;
  rank.last.push_back(line);
  if (rank.last.size() > kLastLines) rank.last.pop_front();
}

/// Passes whole lines on.
void pass_on(Rank& rank, Stream& s, bool prefix) {
  char bytes[4096];
  for (;;) {
    const ssize_t n = ::read(s.fd, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      if (!s.line.empty()) print(rank, s, s.line, prefix);
      ::close(s.fd);
      s.fd = -1;
      return;
    }
    for (ssize_t i = 0; i < n; ++i) {
      if (bytes[i] != '\n') {
        s.line += bytes[i];
        continue;
      }
      print(rank, s, s.line, prefix);
      s.line.clear();
    }
  }
}

int exit_status(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

std::string how(int status) {
  if (WIFSIGNALED(status)) return std::string("was ended by ") + ::strsignal(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

void hear_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction a {};
    a.sa_handler = [](int s) { asked_to_end = s; };
    ::sigaction(signal, &a, nullptr);
  }
}

/// Drops what standard input has, and tells if it has ended.
bool input_ended() {
  pollfd p{STDIN_FILENO, POLLIN, 0};
  char bytes[256];
  return ::poll(&p, 1, 0) == 1 && ::read(STDIN_FILENO, bytes, sizeof bytes) <= 0;
}

void poll_streams(std::vector<Rank>& ranks, bool prefix) {
  std::vector<pollfd> polled;
  for (const Rank& r : ranks)
    for (const Stream& s : r.streams)
      if (s.fd >= 0) polled.push_back({s.fd, POLLIN, 0});
  ::poll(polled.data(), polled.size(), 50);
  for (Rank& r : ranks)
    for (Stream& s : r.streams)
      if (s.fd >= 0) pass_on(r, s, prefix);
}

/// Waits for all: what is `member` of the message, a rank or a machine.
int wait_for(std::vector<Rank>& ranks, bool prefix, bool watch_stdin, const char* member) {
  const Rank* failed = nullptr;
  int passed_on = 0;
  bool ending = false;
  Clock::time_point last_moment{};
  const auto tell_all = [&](int signal) {
    for (const Rank& r : ranks)
      if (!r.ended) ::kill(-r.pid, signal);
  };
  for (;;) {
    poll_streams(ranks, prefix);
    if (watch_stdin && !asked_to_end && input_ended()) asked_to_end = SIGTERM;
    bool all_ended = true;
    for (Rank& r : ranks) {
      if (!r.ended && ::waitpid(r.pid, &r.status, WNOHANG) == r.pid) {
        r.ended = true;
        for (Stream& s : r.streams)
          if (s.fd >= 0) pass_on(r, s, prefix);
        if (r.status != 0 && !failed && !passed_on) failed = &r;
      }
      all_ended &= r.ended;
    }
    if (all_ended) break;
    if (asked_to_end && !passed_on) passed_on = asked_to_end, tell_all(passed_on);
    if ((failed || passed_on) && !ending) {
      ending = true, last_moment = Clock::now() + kGrace;
      if (failed) tell_all(SIGTERM);
    }
    if (ending && Clock::now() > last_moment) tell_all(SIGKILL), last_moment = Clock::now() + kGrace;
  }
  for (Rank& r : ranks) ::kill(-r.pid, SIGKILL);  // what a rank has started and left behind
  if (passed_on) return 128 + passed_on;
  if (!failed) return 0;
  std::fprintf(stderr, "lazy-launch: %s %d was the first to fail: it %s\n", member, failed->number,
               how(failed->status).c_str());
  for (const std::string& line : failed->last) std::fprintf(stderr, "  | %s\n", line.c_str());
  return exit_status(failed->status);
}

}  // namespace

int run_ranks(const Launch& l) {
  hear_signals();
  const int port = l.port ? l.port : l.machines > 1 ? 29500 : free_port();
  std::vector<Rank> ranks(static_cast<size_t>(l.processes));
  for (int i = 0; i < l.processes; ++i) {
    Rank& rank = ranks[static_cast<size_t>(i)];
    rank.number = l.machine * l.processes + i;
    start(rank, l.command, -1, [&] { become(rank, i, l, port); });
  }
  return wait_for(ranks, l.prefix, l.watch_stdin, "rank");
}

int run_machines(const std::vector<std::vector<std::string>>& commands) {
  hear_signals();
  int input[2];  // its writing end closes with this process, whatever ends it: then the machines end, too
  if (::pipe2(input, O_CLOEXEC)) {
    std::perror("lazy-launch: pipe");
    return 1;
  }
  std::vector<Rank> machines(commands.size());
  for (size_t i = 0; i < commands.size(); ++i) {
    machines[i].number = static_cast<int>(i);
    start(machines[i], commands[i], input[0], [] {});
  }
  ::close(input[0]);
  const int status = wait_for(machines, false, false, "machine");
  ::close(input[1]);
  return status;
}

}  // namespace lazy::tool
