// Programs that tests start, kill and wait for.
#pragma once
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace lazy::test {

struct Ended {
  int status = 0;  // as waitpid gives it
  std::string said;
  bool good() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
};

class Process {
 public:
  Process(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    pid_ = fork();
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
  }
  void kill() const { ::kill(pid_, SIGKILL); }
  pid_t pid() const { return pid_; }
  Ended wait() {
    Ended e;
    char part[4096];
    for (ssize_t n; (n = read(out_, part, sizeof part)) > 0;) e.said.append(part, static_cast<size_t>(n));
    waitpid(pid_, &e.status, 0);
    return e;
  }

 private:
  pid_t pid_;
  int out_ = -1;
};

inline Ended run(const std::vector<std::string>& command,
                 const std::map<std::string, std::string>& environment) {
  return Process(command, environment).wait();
}

}  // namespace lazy::test
