#include "tests/emulated_cuda/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/emulated_cuda/settings.hpp"

namespace emulated {
namespace {

constexpr size_t kAlignment = 256;
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kFence = 0;  // the sanitizer's red zones are better
#else
constexpr size_t kFence = 256;
#endif
constexpr int kFresh = 0xa5, kFreed = 0xfb, kFenced = 0xfd;

/// True if memory is protected. Not under AddressSanitizer, which knows the heap, not mappings: its reports
/// are worth more.
bool protects() { return kFence != 0 && settings().protect; }

bool intact(const char* fence) {
  return std::all_of(fence, fence + kFence, [](char c) { return c == static_cast<char>(kFenced); });
}

}  // namespace

std::optional<DevicePtr> Memory::allocate(int device, size_t bytes) {
  Block block{bytes, device, false, nullptr, 0};
  const size_t all = bytes + 2 * kFence;
  const std::lock_guard lock(mutex_);
  if (protects()) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    block.mapped = (all + page - 1) / page * page;
    void* memory = mmap(nullptr, block.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return std::nullopt;
    block.memory = static_cast<char*>(memory);
    any_mapped_ = true;
  } else {
    void* memory = nullptr;
    if (posix_memalign(&memory, kAlignment, all) != 0) return std::nullopt;
    block.memory = static_cast<char*>(memory);
  }
  char* at = block.memory + kFence;
  std::memset(block.memory, kFenced, kFence);
  std::memset(at, kFresh, bytes);
  std::memset(at + bytes, kFenced, kFence);
  const auto pointer = reinterpret_cast<DevicePtr>(at);
  blocks_[pointer] = block;
  protect(block);
  return pointer;
}

bool Memory::retire(DevicePtr pointer) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(pointer);
  if (found == blocks_.end() || found->second.retired) return false;
  found->second.retired = true;
  return true;
}

size_t Memory::release(DevicePtr pointer, bool& damage) {
  const Access access(*this);
  Block block{};
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(pointer);
    block = found->second;
    blocks_.erase(found);
  }
  char* at = block.memory + kFence;
  damage = !intact(block.memory) || !intact(at + block.bytes);
  std::memset(at, kFreed, block.bytes);
  give_back(block);
  return block.bytes;
}

void Memory::open(int more) {
  const std::lock_guard lock(mutex_);
  const bool was_open = accesses_ != 0;
  accesses_ += more;
  if (was_open == (accesses_ != 0) || !any_mapped_) return;
  for (const auto& [start, block] : blocks_) protect(block);
}

/// Protects a block, or not, by the number of accesses.
void Memory::protect(const Block& block) const {
  if (block.mapped != 0)
    mprotect(block.memory, block.mapped, accesses_ != 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
}

void Memory::give_back(const Block& block) {
  if (block.mapped != 0) {
    munmap(block.memory, block.mapped);
  } else {
    std::free(block.memory);
  }
}

int Memory::device_of(DevicePtr pointer, size_t bytes) const {
  const std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(pointer);
  if (after == blocks_.begin()) return -1;
  const auto& [start, block] = *--after;
  const size_t offset = pointer - start;
  const bool inside = offset < block.bytes && bytes <= block.bytes - offset;
  return inside && !block.retired ? block.device : -1;
}

size_t Memory::live_bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& [start, block] : blocks_) bytes += block.bytes;
  return bytes;
}

void Memory::clear() {
  const std::lock_guard lock(mutex_);
  for (const auto& [start, block] : blocks_) give_back(block);
  blocks_.clear();
}

}  // namespace emulated
