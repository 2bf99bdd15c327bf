#include "support/per_thread.hpp"

#include <pthread.h>

#include <atomic>
#include <utility>

namespace lazy::detail {
namespace {

constinit thread_local KeptByThread* kept = nullptr;

void end_of_thread(void*) {
  while (kept) {
    KeptByThread* const last = kept;
    kept = last->next;
    delete last;
  }
}

/// The POSIX key, or -1: then objects of threads are never freed.
constinit std::atomic<int> key{-1};

int make_key() noexcept {
  pthread_key_t made;
  if (pthread_key_create(&made, end_of_thread) != 0) return -1;
  key.store(static_cast<int>(made), std::memory_order_release);
  return static_cast<int>(made);
}

/// Deletes the key when the code is unloaded: threads that go on must not call end_of_thread then.
[[gnu::destructor]] void delete_key() {
  const int k = key.exchange(-1, std::memory_order_acq_rel);
  if (k >= 0) pthread_key_delete(static_cast<pthread_key_t>(k));
}

}  // namespace

void keep_until_thread_ends(KeptByThread* k) noexcept {
  [[maybe_unused]] static const int once = make_key();
  k->next = std::exchange(kept, k);
  if (const int now = key.load(std::memory_order_acquire); now >= 0)
    (void)pthread_setspecific(static_cast<pthread_key_t>(now), k);
}

}  // namespace lazy::detail
