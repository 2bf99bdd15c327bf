#include "tools/launch/slots.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <stdexcept>

namespace lazy::tool {
namespace {

constexpr double kMostTime = 30;               // seconds that a script may take
constexpr size_t kMostText = size_t{1} << 20;  // bytes that it may print

Clock::duration seconds(double s) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

}  // namespace

std::vector<Host> hosts_of(const std::string& text) {
  std::vector<Host> all;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string word, more;
    if (!(words >> word)) continue;
    const size_t colon = word.rfind(':');
    Host h{word.substr(0, colon), 0};
    if (colon != word.npos) {
      const char* const end = word.data() + word.size();
      const auto [at, error] = std::from_chars(word.data() + colon + 1, end, h.slots);
      if (error != std::errc{} || at != end || h.slots < 0 || h.slots > 1024) h.name.clear();
    }
    if (h.name.empty() || h.name[0] == '-' || words >> more)
      throw std::runtime_error("line " + std::to_string(number) +
                               ": HOST or HOST:SLOTS, SLOTS up to 1024, was "
                               "expected, not " +
                               line.substr(0, 60));
    if (colon == word.npos || h.slots > 0) all.push_back(h);
  }
  return all;
}

Slots::~Slots() { end_script(); }

void Slots::say(const std::string& what) {
  if (what == said_) return;
  said_ = what;
  std::fprintf(stderr, "lazy-launch: %s\n", what.c_str());
}

void Slots::begin_script() {
  int out[2];
  if (::pipe2(out, O_CLOEXEC)) return say("no pipe for the script of hosts");
  const pid_t parent = ::getpid();
  script_.pid = ::fork();
  if (script_.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::setpgid(0, 0);
    ::dup2(out[1], STDOUT_FILENO);
    ::execl("/bin/sh", "sh", "-c", source_.script.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(out[1]);
  if (script_.pid < 0) {
    ::close(out[0]);
    return say("the script of hosts can't be started");
  }
  ::setpgid(script_.pid, script_.pid);
  ::fcntl(out[0], F_SETFL, O_NONBLOCK);
  script_.out = out[0], script_.text.clear(), script_.begun = Clock::now();
}

void Slots::end_script() {
  if (script_.pid < 0) return;
  ::kill(-script_.pid, SIGKILL);
  ::waitpid(script_.pid, nullptr, 0);
  ::close(script_.out);
  script_ = {};
}

void Slots::hear_script() {
  char bytes[4096];
  ssize_t n;
  while ((n = ::read(script_.out, bytes, sizeof bytes)) > 0)
    if (script_.text.size() < kMostText) script_.text.append(bytes, static_cast<size_t>(n));
  int status = 0;
  if (::waitpid(script_.pid, &status, WNOHANG) != script_.pid) {
    if (Clock::now() - script_.begun < seconds(kMostTime)) return;
    end_script();
    return say("the script of hosts took more than 30 seconds");
  }
  while ((n = ::read(script_.out, bytes, sizeof bytes)) > 0)
    if (script_.text.size() < kMostText) script_.text.append(bytes, static_cast<size_t>(n));
  ::kill(-script_.pid, SIGKILL);  // what it has left behind
  ::close(script_.out);
  const std::string text = std::move(script_.text);
  script_ = {};
  if (status != 0) return say("the script of hosts " + how_ended(status));
  try {
    hosts_ = hosts_of(text);
    said_.clear();
  } catch (const std::runtime_error& e) { say(std::string("the script of hosts, ") + e.what()); }
}

void Slots::look() {
  if (script_.pid >= 0) return hear_script();
  if (Clock::now() < next_) return;
  next_ = Clock::now() + seconds(source_.every);
  if (!source_.script.empty()) return begin_script();
  if (source_.hostfile.empty()) {
    hosts_ = {{"", source_.slots}};
    return;
  }
  try {
    hosts_ = read_hosts(source_.hostfile);
    said_.clear();
  } catch (const std::runtime_error& e) { say(e.what()); }
}

bool Slots::is_left_alone(const std::string& host) const {
  const auto f = failures_.find(host);
  return f != failures_.end() && Clock::now() < f->second.until;
}

std::vector<Host> Slots::plan(int most) const {
  std::vector<Host> all;
  for (const Host& h : hosts_) {
    const int n = std::min(most, h.slots ? h.slots : source_.slots);
    if (n < 1 || is_left_alone(h.name)) continue;
    all.push_back({h.name, n});
    most -= n;
  }
  return all;
}

void Slots::failed(const std::string& host) {
  Failures& f = failures_[host];
  ++f.count;
  f.until = Clock::now() + seconds(source_.cooldown * std::pow(2, std::min(f.count - 1, 6)));
}

int Slots::left_alone() const {
  return static_cast<int>(
      std::count_if(hosts_.begin(), hosts_.end(), [this](const Host& h) { return is_left_alone(h.name); }));
}

}  // namespace lazy::tool
