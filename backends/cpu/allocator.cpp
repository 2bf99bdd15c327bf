#include "backends/cpu/allocator.hpp"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "support/error.hpp"
#include "support/lock.hpp"
#include "support/per_thread.hpp"

namespace lazy::cpu_backend {
namespace {

// Sizes are rounded up to a quarter of their power of two: at most 25% is wasted, and a block serves many
// sizes.
struct SizeClass {
  int index;
  size_t bytes;
};
constexpr int kSmallest = 6;  // log2
constexpr int kClasses = (48 - kSmallest) * 4;

constexpr SizeClass class_of(size_t n) {
  if (n <= 64) return {0, 64};
  const int top = static_cast<int>(std::bit_width(n - 1)) - 1;  // 2^top < n <= 2^(top + 1)
  const size_t quarter = size_t{1} << (top - 2);
  const size_t steps = (n - (size_t{1} << top) + quarter - 1) / quarter;  // 1 .. 4
  return {(top - kSmallest) * 4 + static_cast<int>(steps), (size_t{1} << top) + steps * quarter};
}

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kThreadLimit = 256 << 10;        // largest block that a thread keeps for itself
constexpr size_t kThreadBlocks = 16;              // of one class
constexpr size_t kSharedLimit = size_t{4} << 30;  // bytes kept in all

std::atomic<size_t> g_kept{0}, g_requests{0};

void* from_system(size_t bytes) {
  g_requests.fetch_add(1, std::memory_order_relaxed);
  const size_t align = bytes >= kHugePage ? kHugePage : 64;
  void* p = std::aligned_alloc(align, (bytes + align - 1) / align * align);
  if (!p) throw DeviceError("out of memory: " + std::to_string(bytes) + " bytes");
  if (bytes >= kHugePage) madvise(p, (bytes + align - 1) / align * align, MADV_HUGEPAGE);
  return p;
}

/// Blocks any thread may take; one lock a class.
struct Shared {
  struct alignas(64) List {
    Mutex mutex;
    std::vector<void*> blocks;
  };
  std::array<List, kClasses> lists;

  void* take(const SizeClass& c) {
    List& l = lists[static_cast<size_t>(c.index)];
    const Hold lock(l.mutex);
    if (!lock.intact()) std::construct_at(&l.blocks);
    if (l.blocks.empty()) return nullptr;
    void* p = l.blocks.back();
    l.blocks.pop_back();
    g_kept.fetch_sub(c.bytes, std::memory_order_relaxed);
    return p;
  }
  void give(const SizeClass& c, void* p) noexcept {
    if (g_kept.fetch_add(c.bytes, std::memory_order_relaxed) + c.bytes > kSharedLimit) {
      g_kept.fetch_sub(c.bytes, std::memory_order_relaxed);
      std::free(p);
      return;
    }
    List& l = lists[static_cast<size_t>(c.index)];
    const Hold lock(l.mutex);
    if (!lock.intact()) std::construct_at(&l.blocks);
    try {
      l.blocks.push_back(p);
    } catch (...) {
      g_kept.fetch_sub(c.bytes, std::memory_order_relaxed);
      std::free(p);
    }
  }
};
Shared& shared() {
  static constinit Once<Shared> s;  // never destroyed: threads give back at their end
  return s.get([] { return Shared(); });
}

constexpr int kThreadClasses = class_of(kThreadLimit).index + 1;

/// Small blocks of this thread.
struct Mine {
  struct List {
    void* blocks[kThreadBlocks];
    uint32_t n = 0;
  };
  std::array<List, 64> lists;
  ~Mine();
  void flush() noexcept;
};

size_t bytes_of_class(int index) {
  if (index == 0) return 64;
  const int top = (index - 1) / 4 + kSmallest, steps = (index - 1) % 4 + 1;
  return (size_t{1} << top) + static_cast<size_t>(steps) * (size_t{1} << (top - 2));
}

void Mine::flush() noexcept {
  for (size_t i = 0; i < lists.size(); ++i)
    while (lists[i].n) {
      const SizeClass c{static_cast<int>(i), bytes_of_class(static_cast<int>(i))};
      g_kept.fetch_sub(c.bytes, std::memory_order_relaxed);
      shared().give(c, lists[i].blocks[--lists[i].n]);
    }
}
Mine::~Mine() { flush(); }

}  // namespace

void* allocate(size_t bytes) {
  const SizeClass c = class_of(bytes);
  if (Mine* const mine = c.index < kThreadClasses ? PerThread<Mine>::try_get() : nullptr) {
    auto& l = mine->lists[static_cast<size_t>(c.index)];
    if (l.n) {
      g_kept.fetch_sub(c.bytes, std::memory_order_relaxed);
      return l.blocks[--l.n];
    }
  }
  if (void* p = shared().take(c)) return p;
  return from_system(c.bytes);
}

void deallocate(void* p, size_t bytes) noexcept {
  if (!p) return;
  const SizeClass c = class_of(bytes);
  if (Mine* const mine = c.index < kThreadClasses ? PerThread<Mine>::try_get() : nullptr) {
    auto& l = mine->lists[static_cast<size_t>(c.index)];
    if (l.n < kThreadBlocks) {
      g_kept.fetch_add(c.bytes, std::memory_order_relaxed);
      l.blocks[l.n++] = p;
      return;
    }
  }
  shared().give(c, p);
}

AllocatorStats allocator_stats() { return {g_kept.load(), g_requests.load()}; }

void release_kept_memory() {
  if (Mine* const mine = PerThread<Mine>::if_there()) mine->flush();
  for (auto& l : shared().lists) {
    const Hold lock(l.mutex);
    if (!lock.intact()) std::construct_at(&l.blocks);
    const size_t each = bytes_of_class(static_cast<int>(&l - shared().lists.data()));
    for (void* p : l.blocks) {
      g_kept.fetch_sub(each, std::memory_order_relaxed);
      std::free(p);
    }
    l.blocks.clear();
  }
}

}  // namespace lazy::cpu_backend
