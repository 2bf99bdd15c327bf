// Makes allocations fail, of the C++ library and of values, for programs that test what happens then.
// Included by one file of a program: it replaces operator new.
#pragma once
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace failing {

// While armed, of the thread that is tested, or of all: allocation number `fails_at` fails, and with
// `and_later` all after it.
inline constinit thread_local bool armed = false;
inline constinit std::atomic<bool> all_armed{false};
inline constinit std::atomic<long> asked{0}, failures{0}, blocks{0};
inline long fails_at = -1;
inline bool and_later = false;

/// Arms the calling thread, or all, for a scope: allocation `at` will fail.
class Armed {
 public:
  Armed(long at, bool all) { asked = 0, fails_at = at, armed = true, all_armed = all; }
  ~Armed() { armed = all_armed = false; }
};

inline bool fails() {
  if (!armed && !all_armed) return false;
  const long n = asked++;
  if (n != fails_at && !(and_later && n > fails_at)) return false;
  ++failures;
  return true;
}

inline void* had(void* p) {
  if (!p) throw std::bad_alloc();
  ++blocks;
  return p;
}
inline void gone(void* p) {
  if (p) --blocks;
  std::free(p);
}

}  // namespace failing

void* operator new(size_t n) {
  if (failing::fails()) throw std::bad_alloc();
  return failing::had(std::malloc(n));
}
void* operator new(size_t n, std::align_val_t a) {
  if (failing::fails()) throw std::bad_alloc();
  return failing::had(::memalign(static_cast<size_t>(a), n));
}
void* operator new(size_t n, const std::nothrow_t&) noexcept {
  void* const p = failing::fails() ? nullptr : std::malloc(n);
  if (p) ++failing::blocks;
  return p;
}
void operator delete(void* p) noexcept { failing::gone(p); }
void operator delete(void* p, size_t) noexcept { failing::gone(p); }
void operator delete(void* p, std::align_val_t) noexcept { failing::gone(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { failing::gone(p); }

/// Allocates memory for values.
extern "C" void* aligned_alloc(size_t alignment, size_t bytes) {
  return failing::fails() ? nullptr : ::memalign(alignment, bytes);
}
