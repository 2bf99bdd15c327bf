// Prepares every process that a test starts.
#pragma once
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace lazy::test {

inline constexpr unsigned kSecondsAChild = 600;

/// Makes a child end with the thread that made it, and after so many seconds at the latest. Both hold for a
/// program that it becomes.
inline void end_with_parent(pid_t parent, unsigned seconds = kSecondsAChild) {
  signal(SIGALRM, SIG_DFL);
  alarm(seconds);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);  // the parent has ended already
}

/// Forks and calls end_with_parent() in the child.
inline pid_t fork_child(unsigned seconds = kSecondsAChild) {
  const pid_t parent = getpid(), child = fork();
  if (child == 0) end_with_parent(parent, seconds);
  return child;
}

}  // namespace lazy::test
