#include "tests/emulated_cuda/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace emulated {
namespace {

constexpr size_t kAlignment = 256;
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kFence = 0;  // the sanitizer's own is better
#else
constexpr size_t kFence = 256;
#endif
constexpr int kFresh = 0xa5, kFreed = 0xfb, kFenced = 0xfd;

char* host(DevicePtr pointer) { return reinterpret_cast<char*>(pointer); }

bool intact(const char* fence) {
  return std::all_of(fence, fence + kFence, [](char c) { return c == static_cast<char>(kFenced); });
}

}  // namespace

std::optional<DevicePtr> Memory::allocate(int device, size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, bytes + 2 * kFence) != 0) return std::nullopt;
  char* at = static_cast<char*>(memory) + kFence;
  std::memset(memory, kFenced, kFence);
  std::memset(at, kFresh, bytes);
  std::memset(at + bytes, kFenced, kFence);
  const auto pointer = reinterpret_cast<DevicePtr>(at);
  const std::lock_guard lock(mutex_);
  blocks_[pointer] = {bytes, device, false};
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
  size_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(pointer);
    bytes = found->second.bytes;
    blocks_.erase(found);
  }
  char* at = host(pointer);
  damage = !intact(at - kFence) || !intact(at + bytes);
  std::memset(at, kFreed, bytes);
  std::free(at - kFence);
  return bytes;
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
  for (const auto& [start, block] : blocks_) std::free(host(start) - kFence);
  blocks_.clear();
}

}  // namespace emulated
