#include "backends/cuda/allocator.hpp"

#include <time.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "backends/cuda/gpu.hpp"
#include "support/config.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace lazy::cuda_backend {
namespace {

/// Rounds a size up to four steps to each power of two, so that blocks fit again; large ones to a multiple of
/// 2 MiB.
size_t rounded(size_t bytes) {
  constexpr size_t kLeast = 512, kLarge = size_t{2} << 20;
  if (bytes <= kLeast) return kLeast;
  if (bytes >= kLarge) return (bytes + kLarge - 1) / kLarge * kLarge;
  const size_t step = std::bit_floor(bytes - 1) / 4;
  return (bytes + step - 1) / step * step;
}

constexpr size_t kShareKept = 4;  // a fourth of the device's memory is cached at most

void* pointer(api::DevicePtr p) { return reinterpret_cast<void*>(static_cast<uintptr_t>(p)); }
using api::device_pointer;

}  // namespace

void Allocator::start() {
  gpu_.check(gpu_.driver.default_pool(&pool_, gpu_.handle), "cuDeviceGetDefaultMemPool");
  uint64_t all = ~uint64_t{0};  // the pool caches what it has until release_kept()
  gpu_.check(gpu_.driver.pool_set(pool_, api::MemPoolAttribute::release_threshold, &all),
             "cuMemPoolSetAttribute");
}

void* Allocator::allocate(size_t bytes) {
  const size_t size = rounded(bytes);
  CudaLaunchCapture* const recording = CudaLaunchCapture::current(gpu_);
  if (void* p = recording ? recording->take(size) : nullptr) return p;
  void* p = find(size);
  if (!p && recording && recording->release()) p = find(size);
  if (!p) fail(bytes);
  return p;
}

void* Allocator::find(size_t size) {
  const std::lock_guard hold(lock_);
  if (const auto found = kept_.find(size); found != kept_.end() && !found->second.heap.empty()) {
    auto& [blocks, least] = found->second;
    std::pop_heap(blocks.begin(), blocks.end(), std::greater<>());
    void* p = blocks.back();
    blocks.pop_back();
    least = std::min(least, blocks.size());
    stats_.kept -= size;
    stats_.used += size;
    return p;
  }
  const uint64_t limit = config::get().cuda_memory;
  const auto too_much = [&] { return limit && stats_.used + stats_.kept + size > limit; };
  if (too_much()) release_kept_locked();
  if (too_much()) return nullptr;
  void* p = from_driver(size);
  if (!p) {
    release_kept_locked();
    p = from_driver(size);
  }
  if (p) stats_.used += size;
  return p;
}

void Allocator::deallocate(void* p, size_t bytes) noexcept {
  const size_t size = rounded(bytes);
  if (CudaLaunchCapture* r = CudaLaunchCapture::current(gpu_)) return r->keep(p, size);
  give_back(p, size);
}

void Allocator::give_back(void* p, size_t size) noexcept {
  const Hold hold(lock_);
  stats_.used -= size;
  if (gpu_.generation != forks::generation()) return;  // a forked child has no claim to it
  trim_locked();
  if (stats_.kept + size > gpu_.memory / kShareKept) return to_driver(p);
  try {
    auto& blocks = kept_[size].heap;
    blocks.push_back(p);
    std::push_heap(blocks.begin(), blocks.end(), std::greater<>());
    stats_.kept += size;
  } catch (...) { to_driver(p); }  // no memory for the list
}

void Allocator::to_driver(void* p) noexcept {
  if (gpu_.driver.context_set(gpu_.context) == api::kSuccess)
    (void)gpu_.driver.free_async(device_pointer(p), gpu_.stream);
}

void Allocator::let_time_pass(uint64_t milliseconds) {
  const Hold hold(lock_);
  passed_ += milliseconds;
}

void Allocator::trim_locked() noexcept {
  constexpr uint64_t kIdle = 10000;  // milliseconds
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  const uint64_t now =
      static_cast<uint64_t>(t.tv_sec) * 1000 + static_cast<uint64_t>(t.tv_nsec) / 1000000 + passed_;
  if (now - trimmed_ < kIdle) return;
  const bool first = std::exchange(trimmed_, now) == 0;
  for (auto& [size, blocks] : kept_) {
    // The blocks in use have the lowest addresses.
    if (!first && blocks.least > 0) std::sort(blocks.heap.begin(), blocks.heap.end());
    for (size_t n = first ? 0 : blocks.least; n > 0; --n) {
      to_driver(blocks.heap.back());
      blocks.heap.pop_back();
      stats_.kept -= size;
    }
    blocks.least = blocks.heap.size();
  }
  (void)gpu_.driver.pool_trim(pool_, stats_.used + stats_.kept);  // of what the stream is through with
}

void* Allocator::from_driver(size_t bytes) {
  gpu_.enter();
  api::DevicePtr p = 0;
  ++stats_.requests;
  const api::Result r = gpu_.driver.allocate_async(&p, bytes, gpu_.stream);
  if (r == api::kOutOfMemory) return nullptr;
  gpu_.check(r, "cuMemAllocAsync");
  return pointer(p);
}

size_t Allocator::release_kept() {
  const std::lock_guard hold(lock_);
  return release_kept_locked();
}

size_t Allocator::release_kept_locked() {
  const size_t bytes = stats_.kept;
  gpu_.enter();
  for (auto& [size, blocks] : kept_) {
    while (!blocks.heap.empty()) {
      gpu_.check(gpu_.driver.free_async(device_pointer(blocks.heap.back()), gpu_.stream), "cuMemFreeAsync");
      blocks.heap.pop_back();
      stats_.kept -= size;
    }
    blocks.least = 0;
  }
  gpu_.check(gpu_.driver.stream_synchronize(gpu_.stream), "cuStreamSynchronize");
  gpu_.check(gpu_.driver.pool_trim(pool_, 0), "cuMemPoolTrimTo");
  return bytes;
}

void Allocator::fail(size_t asked) const {
  size_t free = 0, total = 0;
  std::string text = "cuda:" + std::to_string(gpu_.ordinal) + " (" + gpu_.name + "): no memory for " +
                     text::human_size(asked) + "; values hold " + text::human_size(stats().used);
  if (gpu_.driver.memory_info(&free, &total) == api::kSuccess)
    text += ", and " + text::human_size(free) + " of " + text::human_size(total) + " is free";
  if (const uint64_t limit = config::get().cuda_memory)
    text += " (LAZY_CUDA_MEMORY=" + std::to_string(limit) + ")";
  throw DeviceError(text);
}

Allocator::Stats Allocator::stats() const {
  const std::lock_guard hold(lock_);
  return stats_;
}

}  // namespace lazy::cuda_backend
