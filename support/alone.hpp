// Does without locked instructions while the process has one thread. A locked add takes three nanoseconds,
// and recording and flushing a small graph of one op has a dozen. The C library knows: it says so until the
// first thread begins, which sees all that was stored before.
#pragma once
#include <atomic>
#include <type_traits>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define LAZY_KNOWS_IF_ALONE 1
#else
#define LAZY_KNOWS_IF_ALONE 0
#endif

namespace lazy {

/// True if no other thread of the process runs.
inline bool alone() noexcept {
#if LAZY_KNOWS_IF_ALONE
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

/// Adds to a number that any thread may change. Returns what it was before.
template <class T>
inline T fetch_add(std::atomic<T>& a, std::type_identity_t<T> n, std::memory_order order) noexcept {
  if (!alone()) return a.fetch_add(n, order);
  const T before = a.load(std::memory_order_relaxed);
  a.store(static_cast<T>(before + n), std::memory_order_relaxed);
  return before;
}
template <class T>
inline T fetch_sub(std::atomic<T>& a, std::type_identity_t<T> n, std::memory_order order) noexcept {
  return fetch_add(a, static_cast<T>(T{0} - n), order);
}

/// Changes `a` from `expected` to `desired`. If it is something else, `expected` becomes that.
template <class T>
inline bool compare_exchange(std::atomic<T>& a, T& expected, std::type_identity_t<T> desired,
                             std::memory_order order) noexcept {
  if (!alone()) return a.compare_exchange_strong(expected, desired, order);
  const T now = a.load(std::memory_order_relaxed);
  if (now != expected) return expected = now, false;
  a.store(desired, std::memory_order_relaxed);
  return true;
}

}  // namespace lazy
