#include "tools/launch/processes.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace lazy::tool {
namespace {

constexpr size_t kLastLines = 20;
volatile sig_atomic_t asked = 0;

[[noreturn]] void execute(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& w : command) words.push_back(const_cast<char*>(w.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  std::fprintf(stderr, "lazy-launch: can't run %s: %s\n", words[0], std::strerror(errno));
  ::_exit(127);
}

// A process of its own ends what this one started, should this one be killed: what ranks have started, too.
int guard = -1;  // the writing end of its pipe

/// Is the guard: hears of groups, and kills those that are left when the pipe ends with its writers.
[[noreturn]] void be_guard(int pipe) {
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, fd);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  std::vector<pid_t> groups;
  for (pid_t group;;) {
    const ssize_t n = ::read(pipe, &group, sizeof group);
    if (n < 0 && errno == EINTR) continue;
    if (n != static_cast<ssize_t>(sizeof group)) break;
    if (group > 0) groups.push_back(group);
    else groups.erase(std::remove(groups.begin(), groups.end(), -group), groups.end());
  }
  for (const pid_t g : groups) ::kill(-g, SIGKILL);
  ::_exit(0);
}

/// Tells the guard of a group that has begun, or with a minus of one that has ended.
void tell_guard(pid_t group) {
  if (guard >= 0) (void)!::write(guard, &group, sizeof group);
}

void begin_guard() {
  if (guard >= 0) return;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC)) return;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[1]);
    be_guard(ends[0]);
  }
  ::close(ends[0]);
  if (pid > 0) guard = ends[1];
  else ::close(ends[1]);
}

void fail_if(bool failed, const char* what) {
  if (failed) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

void print(Process& p, const Stream& s, const std::string& line, bool prefix) {
  if (!s.is_error && line == kBeatLine) {
    p.began = true, p.heard = Clock::now();
    return;
  }
  std::FILE* const to = s.is_error ? stderr : stdout;
  if (prefix) std::fprintf(to, "[%d] %s\n", p.number, line.c_str());
  else std::fprintf(to, "%s\n", line.c_str());
  std::fflush(to);
  if (!s.is_error) return;
  p.last.push_back(line);
  if (p.last.size() > kLastLines) p.last.pop_front();
}

/// Passes whole lines on.
void pass_on(Process& p, Stream& s, bool prefix) {
  char bytes[4096];
  for (;;) {
    const ssize_t n = ::read(s.fd, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      if (!s.line.empty()) print(p, s, s.line, prefix);
      ::close(s.fd);
      s.fd = -1;
      return;
    }
    for (ssize_t i = 0; i < n; ++i) {
      if (bytes[i] != '\n') {
        s.line += bytes[i];
        continue;
      }
      print(p, s, s.line, prefix);
      s.line.clear();
    }
  }
}

void hear_beats(Process& p) {
  char bytes[256];
  for (;;) {
    const ssize_t n = ::recv(p.beats, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0) return;
    if (n == 0) {  // it has closed its end: whether it lives is seen by its exit
      ::close(p.beats);
      p.beats = -1, p.began = p.progresses = false;
      return;
    }
    p.began = true, p.heard = Clock::now();
    for (ssize_t i = 0; i < n; ++i)
      if (bytes[i] == 'c') p.progresses = true, p.progressed = p.heard;
  }
}

}  // namespace

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

void start(Process& p, const std::vector<std::string>& command, const Start& s) {
  int out[2], err[2], beats[2] = {-1, -1}, input[2] = {-1, -1};
  fail_if(::pipe2(out, O_CLOEXEC) || ::pipe2(err, O_CLOEXEC), "pipe");
  if (s.beats) fail_if(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, beats), "socketpair");
  // A socket, not a pipe: writing to one that nobody reads any more is no signal to this process then.
  if (s.own_input) fail_if(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input), "socketpair");
  begin_guard();
  const pid_t parent = ::getpid();
  p.pid = ::fork();
  if (p.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody is left behind where this is killed
    if (::getppid() != parent) ::_exit(1);
    ::setpgid(0, 0);
    tell_guard(::getpid());
    if (s.own_input) ::dup2(input[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    if (s.beats) {
      ::fcntl(beats[1], F_SETFD, 0);
      struct stat status {};
      ::fstat(beats[1], &status);  // its number tells it from another file that a later program opens
      ::setenv("ELASTIC_HEARTBEAT_FD",
               (std::to_string(beats[1]) + ":" + std::to_string(status.st_ino)).c_str(), 1);
    } else {
      ::unsetenv("ELASTIC_HEARTBEAT_FD");
    }
    s.prepare();
    execute(command);
  }
  fail_if(p.pid < 0, "fork");
  ::setpgid(p.pid, p.pid);  // here, too: whoever is first
  ::close(out[1]), ::close(err[1]);
  if (s.beats) ::close(beats[1]);
  if (s.own_input) ::close(input[0]);
  p.beats = beats[0], p.input = input[1];
  p.streams[0] = {out[0], false, {}}, p.streams[1] = {err[0], true, {}};
  for (const Stream& stream : p.streams) ::fcntl(stream.fd, F_SETFL, O_NONBLOCK);
  p.heard = p.progressed = Clock::now();
}

void listen(std::vector<Process>& all, bool prefix) {
  std::vector<pollfd> polled;
  for (const Process& p : all) {
    for (const Stream& s : p.streams)
      if (s.fd >= 0) polled.push_back({s.fd, POLLIN, 0});
    if (p.beats >= 0) polled.push_back({p.beats, POLLIN, 0});
  }
  ::poll(polled.data(), polled.size(), 50);
  for (Process& p : all) {
    for (Stream& s : p.streams)
      if (s.fd >= 0) pass_on(p, s, prefix);
    if (p.beats >= 0) hear_beats(p);
  }
}

bool look_at(Process& p, bool prefix) {
  int status = 0;
  if (p.ended || ::waitpid(p.pid, &status, WNOHANG | WUNTRACED | WCONTINUED) != p.pid) return false;
  if (WIFSTOPPED(status)) {
    if (!p.stopped) p.stopped = true, p.heard = Clock::now();
    return false;
  }
  if (WIFCONTINUED(status)) {
    p.stopped = false, p.heard = Clock::now();
    return false;
  }
  p.ended = true, p.status = status;
  for (Stream& s : p.streams)
    if (s.fd >= 0) pass_on(p, s, prefix);
  return true;
}

void tell(const std::vector<Process>& all, int signal) {
  for (const Process& p : all)
    if (!p.ended) ::kill(-p.pid, signal), ::kill(-p.pid, SIGCONT);
}

void clear(std::vector<Process>& all) {
  for (Process& p : all) {
    ::kill(-p.pid, SIGKILL);  // what it has started and left behind
    tell_guard(-p.pid);
    for (Stream& s : p.streams)
      if (s.fd >= 0) ::close(s.fd), s.fd = -1;
    for (int* fd : {&p.beats, &p.input})
      if (*fd >= 0) ::close(*fd), *fd = -1;
  }
}

void announce_change(Process& p) {
  if (p.beats >= 0) (void)::send(p.beats, "r", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (p.input >= 0) (void)::send(p.input, "r", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int exit_status(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

std::string how_ended(int status) {
  if (WIFSIGNALED(status)) return std::string("was ended by ") + ::strsignal(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

void hear_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction a {};
    a.sa_handler = [](int s) { asked = s; };
    ::sigaction(signal, &a, nullptr);
  }
}
int asked_to_end() { return asked; }
void ask_to_end(int signal) { asked = signal; }

}  // namespace lazy::tool
