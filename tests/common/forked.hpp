// Runs a part of a test in a forked child.
#pragma once
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace lazy::test {

/// Runs f in a child; f returns true if all is well. The child ends with the test, and at the latest after a
/// minute.
template <class F>
pid_t fork_for(F&& f) {
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(60);
  if (::getppid() != parent) ::_exit(4);
  bool good = false;
  try {
    good = f();
  } catch (const std::exception& e) { std::fprintf(stderr, "in a forked child: %s\n", e.what()); }
  ::_exit(good ? 0 : 1);
}

/// True if the child ended and found all well.
inline bool ended_well(pid_t pid) {
  int status = -1;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

template <class F>
bool good_in_child(F&& f) {
  return ended_well(fork_for(f));
}

}  // namespace lazy::test
