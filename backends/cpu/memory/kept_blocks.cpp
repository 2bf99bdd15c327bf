#include "backends/cpu/memory/kept_blocks.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace lazy::cpu_backend {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kMapped = ~size_t{0};  // the sanitizer sees where each block ends
#else
constexpr size_t kMapped = kHugePage;  // blocks of this size on are separate mappings
#endif

void* map(size_t bytes) noexcept {
  void* const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

}  // namespace

void* system_allocate(size_t bytes) noexcept {
  if (bytes < kMapped) return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  char* p = static_cast<char*>(map(bytes + kHugePage));
  if (!p) return map(bytes);  // unaligned memory may still be available
  const size_t before = -reinterpret_cast<uintptr_t>(p) % kHugePage;
  if (before) munmap(p, before);
  munmap(p + before + bytes, kHugePage - before);
  madvise(p + before, bytes, MADV_HUGEPAGE);
  return p + before;
}

void system_free(void* p, size_t bytes) noexcept {
  if (bytes < kMapped) std::free(p);
  else munmap(p, bytes);
}

/// Locks a list. If a thread of the parent was changing it when this process was forked, it is emptied.
class KeptBlocks::Locked {
 public:
  explicit Locked(List& l) noexcept : hold_(l.mutex) {
    if (!hold_.intact()) l.newest = l.oldest = nullptr;
  }

 private:
  Hold<Mutex> hold_;
};

void* KeptBlocks::take(const SizeClass& c) noexcept {
  List& l = lists_[static_cast<size_t>(c.index)];
  const Locked lock(l);
  Block* const b = l.newest;
  if (!b) return nullptr;
  l.newest = b->older;
  (b->older ? b->older->newer : l.oldest) = nullptr;
  bytes_.fetch_sub(c.bytes, std::memory_order_relaxed);
  return b;
}

void KeptBlocks::give(const SizeClass& c, void* p, Milliseconds now) noexcept {
  auto* const b = static_cast<Block*>(p);
  List& l = lists_[static_cast<size_t>(c.index)];
  const Locked lock(l);
  *b = {nullptr, l.newest, now};
  (l.newest ? l.newest->newer : l.oldest) = b;
  l.newest = b;
  bytes_.fetch_add(c.bytes, std::memory_order_relaxed);
}

size_t KeptBlocks::free_until(Milliseconds until, size_t bytes) noexcept {
  size_t freed = 0;
  for (int i = kSizeClasses; i-- > 0 && freed < bytes;) {
    const size_t each = bytes_of_class(i);
    List& l = lists_[static_cast<size_t>(i)];
    Block* doomed = nullptr;
    {
      const Locked lock(l);
      while (l.oldest && l.oldest->given <= until && freed < bytes) {
        Block* const b = l.oldest;
        l.oldest = b->newer;
        (b->newer ? b->newer->older : l.newest) = nullptr;
        b->older = std::exchange(doomed, b);
        freed += each;
        ++l.freed;
        bytes_.fetch_sub(each, std::memory_order_relaxed);
      }
    }
    while (doomed) system_free(std::exchange(doomed, doomed->older), each);
  }
  return freed;
}

bool KeptBlocks::oldest(Milliseconds& when) noexcept {
  bool any = false;
  for (List& l : lists_) {
    const Locked lock(l);
    if (!l.oldest) continue;
    when = any ? std::min(when, l.oldest->given) : l.oldest->given;
    any = true;
  }
  return any;
}

size_t KeptBlocks::free_oldest(size_t bytes) noexcept {
  size_t freed = 0;
  constexpr Milliseconds kAlike = 50;  // blocks freed so close together count as freed at once
  for (Milliseconds when; freed < bytes && oldest(when);) freed += free_until(when + kAlike, bytes - freed);
  return freed;
}

size_t KeptBlocks::free_before(Milliseconds when) noexcept {
  return when == 0 ? 0 : free_until(when - 1, ~size_t{0});
}

bool KeptBlocks::freed_too_early(const SizeClass& c) noexcept {
  List& l = lists_[static_cast<size_t>(c.index)];
  const Locked lock(l);
  return l.freed > 0 && l.freed-- > 0;
}

void KeptBlocks::forget_freed() noexcept {
  for (List& l : lists_) {
    const Locked lock(l);
    l.freed = 0;
  }
}

}  // namespace lazy::cpu_backend
