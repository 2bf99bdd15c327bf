// Shared by the configuration and log tests: standard error caught in a file, and this program run again in a
// child.
#pragma once
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/common/child.hpp"

namespace lazy_test {

inline std::string read_all(const std::string& path) {
  std::string out;
  if (FILE* f = std::fopen(path.c_str(), "rb")) {
    char buffer[4096];
    for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, f)) > 0;) out.append(buffer, n);
    std::fclose(f);
  }
  return out;
}

struct TemporaryFile {
  std::string path = (getenv("TMPDIR") ? std::string(getenv("TMPDIR")) : "/tmp") + "/lazy-test-XXXXXX";
  TemporaryFile() { ::close(::mkstemp(path.data())); }
  ~TemporaryFile() { ::unlink(path.c_str()); }
  std::string text() const { return read_all(path); }
};

/// Returns everything written to descriptor 2 while `body` runs.
inline std::string stderr_of(const std::function<void()>& body) {
  const TemporaryFile file;
  std::fflush(stderr);
  const int saved = ::dup(2), fd = ::open(file.path.c_str(), O_WRONLY | O_APPEND);
  ::dup2(fd, 2);
  ::close(fd);
  try {
    body();
  } catch (...) {
    ::dup2(saved, 2);
    ::close(saved);
    throw;
  }
  ::dup2(saved, 2);
  ::close(saved);
  return file.text();
}

struct Variable {
  std::string name, value;
};
using Variables = std::vector<Variable>;

/// Sets variables of the environment for a scope.
class Environment {
 public:
  explicit Environment(const Variables& variables) : variables_(variables) {
    for (const auto& [name, value] : variables_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : variables_) ::unsetenv(name.c_str());
  }

 private:
  Variables variables_;
};

/// Runs the test case `name` of this program in a fresh process with these variables set; returns standard
/// error and status.
inline std::pair<std::string, int> run_again(const std::string& name, Variables variables) {
  const TemporaryFile file;
  variables.push_back({"LAZY_TEST_CHILD", "1"});
  const pid_t pid = lazy::test::fork_child();
  if (pid == 0) {
    for (const auto& [n, value] : variables) ::setenv(n.c_str(), value.c_str(), 1);
    const int fd = ::open(file.path.c_str(), O_WRONLY | O_APPEND);
    ::dup2(fd, 2);
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, 1);
    const std::string filter = "--run_test=" + name;
    ::execl("/proc/self/exe", "again", filter.c_str(), "--log_level=nothing", "--report_level=no", nullptr);
    ::_exit(99);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  return {file.text(), WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

inline bool is_child() { return ::getenv("LAZY_TEST_CHILD") != nullptr; }

inline size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

}  // namespace lazy_test
