#include "backends/cuda/staging.hpp"

#include <algorithm>
#include <cstring>

#include "backends/cuda/gpu.hpp"
#include "support/metrics.hpp"

namespace lazy::cuda_backend {
using api::device_pointer;

void Staging::wait(Chunk& c) {
  if (!c.busy) return;
  gpu_.check(gpu_.driver.event_synchronize(c.done), "cuEventSynchronize");
  c.busy = false;
}

Staging::Chunk& Staging::next() {
  Chunk& c = chunks_[turn_];
  turn_ = (turn_ + 1) % kChunks;
  if (!c.memory) {
    if (!c.done) gpu_.check(gpu_.driver.event_create(&c.done, api::kEventDisableTiming), "cuEventCreate");
    gpu_.check(gpu_.with_room([&] { return gpu_.driver.allocate_host(&c.memory, kChunkBytes); }),
               "cuMemAllocHost");
  }
  wait(c);
  return c;
}

size_t Staging::release() {
  const std::lock_guard hold(lock_);
  size_t bytes = 0;
  gpu_.enter();
  for (Chunk& c : chunks_) {
    if (!c.memory) continue;
    wait(c);
    gpu_.check(gpu_.driver.free_host(c.memory), "cuMemFreeHost");
    c.memory = nullptr;
    bytes += kChunkBytes;
  }
  return bytes;
}

void Staging::write(void* to, const void* from, size_t bytes) {
  gpu_.before_other_work();
  const std::lock_guard hold(lock_);
  gpu_.enter();
  metric::add(MetricCounter::bytes_to_device, bytes);
  for (size_t at = 0; at < bytes; at += kChunkBytes) {
    const size_t n = std::min(kChunkBytes, bytes - at);
    Chunk& c = next();
    std::memcpy(c.memory, static_cast<const char*>(from) + at, n);
    gpu_.check(gpu_.driver.copy_to_device(device_pointer(to) + at, c.memory, n, gpu_.stream),
               "cuMemcpyHtoDAsync");
    gpu_.check(gpu_.driver.event_record(c.done, gpu_.stream), "cuEventRecord");
    c.busy = true;
  }
}

void Staging::read(void* to, const void* from, size_t bytes) {
  gpu_.before_other_work();
  const std::lock_guard hold(lock_);
  gpu_.enter();
  metric::add(MetricCounter::bytes_from_device, bytes);
  // While one chunk is copied out of pinned memory the next ones are on their way.
  struct Part {
    Chunk* chunk;
    size_t at, n;
  };
  Part under_way[kChunks];
  size_t asked = 0, begun = 0, finished = 0;
  while (asked < bytes || finished < begun) {
    if (asked < bytes && begun - finished < kChunks) {
      const size_t n = std::min(kChunkBytes, bytes - asked);
      Chunk& c = next();
      gpu_.check(gpu_.driver.copy_to_host(c.memory, device_pointer(from) + asked, n, gpu_.stream),
                 "cuMemcpyDtoHAsync");
      gpu_.check(gpu_.driver.event_record(c.done, gpu_.stream), "cuEventRecord");
      c.busy = true;
      under_way[begun++ % kChunks] = {&c, asked, n};
      asked += n;
      continue;
    }
    const Part& p = under_way[finished++ % kChunks];
    wait(*p.chunk);
    std::memcpy(static_cast<char*>(to) + p.at, p.chunk->memory, p.n);
  }
}

}  // namespace lazy::cuda_backend
