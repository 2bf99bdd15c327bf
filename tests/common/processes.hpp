// Starts, kills and waits for programs in tests.
#pragma once
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/common/child.hpp"

namespace lazy::test {

struct Ended {
  int status = 0;  // as waitpid returns it
  std::string said;
  bool good() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
};

using Environment = std::map<std::string, std::string>;  // variables set in addition to this process's
inline Environment with(Environment e, const Environment& more) {
  for (const auto& [name, value] : more) e[name] = value;
  return e;
}
/// Returns variables for processes that store their programs in this folder.
inline Environment cached_in(const std::string& folder) {
  return {{"LAZY_CACHE", "on"}, {"LAZY_CACHE_DIR", folder}, {"LAZY_NUM_THREADS", "1"}};
}

class Process {
 public:
  Process(const std::vector<std::string>& command, const Environment& environment) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    pid_ = fork_child();
    if (pid_ == 0) {
      dup2(ends[1], 1);
      dup2(ends[1], 2);
      for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
      std::vector<char*> words;
      for (const std::string& w : command) words.push_back(const_cast<char*>(w.c_str()));
      words.push_back(nullptr);
      execv(words[0], words.data());
      _exit(127);
    }
    close(ends[1]);
    out_ = ends[0];
  }
  Process(const Process&) = delete;
  ~Process() {
    if (out_ >= 0) close(out_);
    if (waited_) return;
    kill();
    waitpid(pid_, nullptr, 0);
  }
  void kill() const { ::kill(pid_, SIGKILL); }
  pid_t pid() const { return pid_; }
  Ended wait() {
    Ended e;
    char part[4096];
    for (ssize_t n; (n = read(out_, part, sizeof part)) > 0;) e.said.append(part, static_cast<size_t>(n));
    waitpid(pid_, &e.status, 0);
    waited_ = true;
    return e;
  }

 private:
  pid_t pid_;
  int out_ = -1;
  bool waited_ = false;
};

inline Ended run(const std::vector<std::string>& command, const Environment& environment) {
  return Process(command, environment).wait();
}
/// Returns its output. Throws with the output if it fails.
inline std::string said_by(const std::vector<std::string>& command, const Environment& environment) {
  const Ended e = run(command, environment);
  if (!e.good()) throw std::runtime_error(command.front() + " fails: " + e.said);
  return e.said;
}

}  // namespace lazy::test
