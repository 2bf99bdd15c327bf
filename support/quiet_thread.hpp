// Starts threads of the library's own, in a process whose signals are the program's.
#pragma once
#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace lazy {

/// Returns a thread that runs f and takes no signals: they are for the program's own threads.
template <class F>
std::thread quiet_thread(F&& f) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread t(std::forward<F>(f));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return t;
}

}  // namespace lazy
