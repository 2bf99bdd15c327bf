#include "backends/cpu/memory/spare.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "support/lock.hpp"

namespace lazy::cpu_backend::spare {
namespace {

constexpr size_t kBytes =
    size_t{32} << 20;          // panels of one width, and a second-level cache for each of many threads
constexpr size_t kMost = 512;  // blocks at a time
constexpr size_t kAlign = 64;

struct Block {
  size_t begin, end;  // bytes from the region's begin
};
constinit Mutex mutex;
constinit std::atomic<char*> region{nullptr};
constinit bool tried = false;
constinit std::array<Block, kMost> blocks{};  // in order
constinit size_t used = 0;

}  // namespace

void reserve() noexcept {
  const Hold hold(mutex);
  if (tried) return;
  tried = true;
  void* const p =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p != MAP_FAILED) region = static_cast<char*>(p);
}

void* take(size_t bytes) noexcept {
  char* const all = region;
  if (!all || bytes > kBytes) return nullptr;
  bytes = std::max(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  const Hold hold(mutex);
  if (!hold.intact()) used = 0;  // the parent's threads, and their blocks, are not here
  if (used == kMost) return nullptr;
  size_t i = 0, begin = 0;
  for (; i < used && blocks[i].begin - begin < bytes; ++i) begin = blocks[i].end;
  if (i == used && kBytes - begin < bytes) return nullptr;
  std::copy_backward(blocks.begin() + i, blocks.begin() + used, blocks.begin() + used + 1);
  blocks[i] = {begin, begin + bytes};
  ++used;
  return all + begin;
}

bool give(void* p) noexcept {
  char* const all = region;
  const auto at = reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(all);
  if (!all || at >= kBytes) return false;
  const Hold hold(mutex);
  const auto end = blocks.begin() + used;
  const auto block = std::find_if(blocks.begin(), end, [&](const Block& b) { return b.begin == at; });
  if (block == end) return true;  // a fork in between has forgotten it
  std::copy(block + 1, end, block);
  if (--used == 0) ::madvise(all, kBytes, MADV_DONTNEED);
  return true;
}

}  // namespace lazy::cpu_backend::spare
