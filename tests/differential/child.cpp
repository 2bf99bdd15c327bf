// Runs children, so that a kernel that crashes or hangs fails one case instead of the run.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "tests/common/child.hpp"
#include "tests/differential/trial.hpp"

namespace lazy::test {
namespace {

/// Holds a child's report to its parent.
struct Report {
  volatile uint64_t index;
  volatile bool failed;
  char text[1 << 16];
};

Report* shared_report() {
  static Report* r = static_cast<Report*>(
      mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return r;
}

constexpr unsigned kSecondsACase = 60;

}  // namespace

Failure first_failure(uint64_t first, uint64_t last, const std::function<std::string(uint64_t)>& f) {
  Report* r = shared_report();
  r->index = first;
  r->failed = false;
  r->text[0] = 0;
  std::fflush(nullptr);
  const pid_t child = fork_child();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    for (int s : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM}) std::signal(s, SIG_DFL);
    for (uint64_t i = first; i != last; ++i) {
      r->index = i;
      alarm(kSecondsACase);
      std::string text;
      try {
        text = f(i);
      } catch (const std::exception& e) { text = std::string("throws: ") + e.what(); }
      if (text.empty()) continue;
      std::strncpy(r->text, text.c_str(), sizeof r->text - 1);
      r->failed = true;
      _exit(0);
    }
    r->index = last;
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (WIFSIGNALED(status))
    return {r->index, std::string("the process died: ") + strsignal(WTERMSIG(status)) + "\n"};
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
    return {r->index, "the process exited with status " + std::to_string(WEXITSTATUS(status)) + "\n"};
  return {r->index, r->failed ? std::string(r->text) : std::string()};
}

std::string in_child(const std::function<std::string()>& f) {
  return first_failure(0, 1, [&](uint64_t) { return f(); }).text;
}

}  // namespace lazy::test
