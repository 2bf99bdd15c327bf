#include "lazy/distributed/signalled.hpp"

#include <atomic>
#include <csignal>

namespace lazy::distributed::detail {
namespace {

std::atomic<uint32_t> count{0};
static_assert(std::atomic<uint32_t>::is_always_lock_free);  // a handler may touch it
void note(int) { count.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

void count_signals() noexcept {
  struct sigaction now {};
  if (::sigaction(SIGUSR2, nullptr, &now) || (now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL) return;
  now.sa_handler = note;
  now.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR2, &now, nullptr);
}
uint32_t signals() noexcept { return count.load(std::memory_order_relaxed); }

}  // namespace lazy::distributed::detail
