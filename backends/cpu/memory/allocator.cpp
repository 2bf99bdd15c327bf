#include "backends/cpu/memory/allocator.hpp"

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include "backends/cpu/memory/kept_blocks.hpp"
#include "backends/cpu/memory/memory_limit.hpp"
#include "support/error.hpp"
#include "support/per_thread.hpp"
#include "support/text.hpp"

namespace lazy::cpu_backend {
namespace {

constexpr size_t kThreadLimit = 256 << 10;  // bytes of the largest block that a thread caches
constexpr uint32_t kThreadBlocks = 16;      // blocks of one class that a thread caches at most,
constexpr size_t kThreadBytes = 1 << 20;    // and their bytes at most, unless there are fewer blocks
constexpr int kThreadClasses = class_of(kThreadLimit).index + 1;
constexpr Milliseconds kIdle = 10000;  // blocks that nobody needed for so long return to the system
constexpr Milliseconds kBetweenTrims = 1000;
constexpr size_t kAlwaysKept = size_t{64} << 20;  // bytes that are never freed to make room for others
constexpr int kTriesInVain = 4;  // requests to the system though there was nothing to release before

constinit KeptBlocks kept;
constinit std::atomic<size_t> held{0},
    requests{0};  // bytes from the system, in use or cached; number of requests to it
constinit std::atomic<size_t> most_kept{kAlwaysKept};  // bytes, by the limits of the process when last read
constinit std::atomic<size_t> extra{0};  // bytes to cache beyond the peak: programs needed freed blocks again
constinit std::atomic<size_t> peak{0};   // most bytes in use at once, lately
constinit std::atomic<Milliseconds> next_trim{0}, passed{0};
constinit std::atomic<uint32_t> rounds{0};  // increased when all threads shall return their cached blocks

Milliseconds now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return static_cast<Milliseconds>(t.tv_sec) * 1000 + static_cast<Milliseconds>(t.tv_nsec) / 1000000 +
         passed.load(std::memory_order_relaxed);
}

size_t in_use() noexcept {
  const size_t are_kept = kept.bytes(), all = held.load(std::memory_order_relaxed);
  return all > are_kept ? all - are_kept : 0;  // other threads change both meanwhile
}

/// Notes the bytes in use, which are about to decrease, for the peak.
void note_use(size_t bytes) noexcept {
  if (bytes > peak.load(std::memory_order_relaxed)) peak.store(bytes, std::memory_order_relaxed);
}

void to_system(const SizeClass& c, void* p) noexcept {
  system_free(p, c.bytes);
  held.fetch_sub(c.bytes, std::memory_order_relaxed);
}

void freed(size_t bytes) noexcept { held.fetch_sub(bytes, std::memory_order_relaxed); }

/// Frees, now and then, blocks that were not needed for long, and makes threads return their cached blocks.
void trim(Milliseconds when) noexcept {
  Milliseconds due = next_trim.load(std::memory_order_relaxed);
  if (when < due || !next_trim.compare_exchange_strong(due, when + kBetweenTrims, std::memory_order_relaxed))
    return;
  if (due == 0) return;
  rounds.fetch_add(1, std::memory_order_relaxed);
  if (when > kIdle) freed(kept.free_before(when - kIdle));
  kept.forget_freed();
  extra.store(extra.load(std::memory_order_relaxed) / 8 * 7, std::memory_order_relaxed);
  peak.store(peak.load(std::memory_order_relaxed) / 16 * 15, std::memory_order_relaxed);
}

void give(const SizeClass& c, void* p) noexcept {
  const Milliseconds when = now();
  note_use(in_use());
  if (kept.bytes() + c.bytes > most_kept.load(std::memory_order_relaxed)) to_system(c, p);
  else kept.give(c, p, when);
  trim(when);
}

/// Holds small blocks that this thread caches.
struct Mine {
  struct List {
    void* blocks[kThreadBlocks];
    uint32_t n = 0;
  };
  std::array<List, kThreadClasses> lists;
  uint32_t round = rounds.load(std::memory_order_relaxed);
  uint8_t frees = 0;
  ~Mine() { give_all(); }
  List& of(const SizeClass& c) noexcept {
    if (const uint32_t now_is = rounds.load(std::memory_order_relaxed); round != now_is) [[unlikely]] {
      round = now_is;
      give_all();
    }
    return lists[static_cast<size_t>(c.index)];
  }
  [[gnu::noinline]] void give_all() noexcept {
    for (int i = 0; i < kThreadClasses; ++i)
      for (List& l = lists[static_cast<size_t>(i)]; l.n;) give({i, bytes_of_class(i)}, l.blocks[--l.n]);
  }
};

Mine* mine_for(const SizeClass& c) noexcept {
  return c.index < kThreadClasses ? PerThread<Mine>::try_get() : nullptr;
}

/// Frees cached blocks before a block comes from the system, for which none of them fitted. As many bytes
/// stay as were in use at once lately, plus those that were needed again soon after they were freed, but at
/// least a few; and all together no more than the process may have.
void make_room(const SizeClass& c) noexcept {
  if (c.bytes < kThreadLimit && kept.bytes() <= kAlwaysKept / 4) return;
  const uint64_t limit = memory_limit();
  most_kept.store(static_cast<size_t>(limit / 4), std::memory_order_relaxed);
  if (kept.freed_too_early(c)) extra.fetch_add(c.bytes, std::memory_order_relaxed);
  const uint64_t used = in_use() + c.bytes, are_kept = kept.bytes();
  note_use(static_cast<size_t>(used));
  const uint64_t sensible = std::max<uint64_t>(
      kAlwaysKept, peak.load(std::memory_order_relaxed) + extra.load(std::memory_order_relaxed));
  const uint64_t bearable = limit - limit / 8 > used ? limit - limit / 8 - used : 0;
  const uint64_t most = std::min({sensible, bearable, limit / 4});
  if (are_kept > most) freed(kept.free_oldest(static_cast<size_t>(are_kept - most)));
}

void* from_system(const SizeClass& c) {
  requests.fetch_add(1, std::memory_order_relaxed);
  make_room(c);
  void* p = system_allocate(c.bytes);
  // Nothing to release may mean that another thread has taken what was kept, and is about to give it back.
  for (int in_vain = 0; !p && in_vain < kTriesInVain;) {
    if (release_kept_memory() == 0) {
      ++in_vain;
      std::this_thread::yield();
    }
    p = system_allocate(c.bytes);
  }
  if (!p) throw DeviceError("out of memory: " + text::human_size(c.bytes));
  held.fetch_add(c.bytes, std::memory_order_relaxed);
  return p;
}

}  // namespace

void* allocate(size_t bytes) {
  if (bytes > size_t{1} << kLargestBits) throw DeviceError("out of memory: " + text::human_size(bytes));
  const SizeClass c = class_of(bytes);
  if (Mine* const mine = mine_for(c))
    if (auto& l = mine->of(c); l.n) return l.blocks[--l.n];
  if (void* p = kept.take(c)) return p;
  return from_system(c);
}

void deallocate(void* p, size_t bytes) noexcept {
  if (!p) return;
  const SizeClass c = class_of(bytes);
  if (Mine* const mine = mine_for(c)) {
    if (++mine->frees == 0) trim(now());
    if (auto& l = mine->of(c); l.n < kThreadBlocks && (l.n < 2 || l.n * c.bytes < kThreadBytes)) {
      l.blocks[l.n++] = p;
      return;
    }
  }
  give(c, p);
}

AllocatorStats allocator_stats() { return {kept.bytes(), held.load(), requests.load()}; }

size_t release_kept_memory() noexcept {
  rounds.fetch_add(1, std::memory_order_relaxed);  // other threads return theirs at their next use
  if (Mine* const mine = PerThread<Mine>::if_there()) mine->give_all();
  const size_t bytes = kept.free_before(~Milliseconds{0});
  freed(bytes);
  malloc_trim(0);  // smaller blocks are the C library's
  return bytes;
}

void let_time_pass(uint64_t milliseconds) noexcept {
  passed.fetch_add(milliseconds, std::memory_order_relaxed);
}

}  // namespace lazy::cpu_backend
