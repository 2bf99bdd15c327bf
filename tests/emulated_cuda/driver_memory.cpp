// Implements the driver's functions for memory and copies.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/emulated_cuda/driver.hpp"
#include "tests/emulated_cuda/settings.hpp"

namespace emulated::driver {
namespace {

void finish_everything(ContextStruct* context) {
  std::vector<std::shared_ptr<Queue>> queues = {context->null_stream.queue};
  {
    const std::lock_guard lock(context->mutex);
    for (const StreamStruct* stream : context->streams) queues.push_back(stream->queue);
  }
  for (const auto& queue : queues) queue->wait_for(queue->last());
}

bool reserve(ContextStruct* context, size_t bytes) {
  MemPoolStruct& pool = context->pool;
  const std::lock_guard lock(pool.mutex);
  if (bytes > settings().memory - pool.used) return false;
  pool.used += bytes;
  pool.reserved = std::max(pool.reserved, pool.used);
  return true;
}

void unreserve(ContextStruct* context, size_t bytes) {
  const std::lock_guard lock(context->pool.mutex);
  context->pool.used -= bytes;
}

Result copy(ContextStruct* context, StreamStruct* stream, void* to, const void* from, size_t bytes) {
  if (context->sticky != 0) return context->sticky;
  stream->queue->submit([=] {
    if (context->failure != 0) return;
    const Memory::Access access(machine()->memory);
    std::memcpy(to, from, bytes);
  });
  return kSuccess;
}

/// True if all of it is host memory.
bool on_host(const void* memory) {
  return memory != nullptr && machine()->memory.device_of(reinterpret_cast<DevicePtr>(memory), 1) < 0;
}

bool overlap(DevicePtr a, DevicePtr b, size_t bytes) { return a < b + bytes && b < a + bytes; }

}  // namespace

Result cuMemPoolSetAttribute(MemPool pool, MemPoolAttribute attribute, void* value) {
  if (!handles().has<MemPoolStruct>(pool) || attribute != MemPoolAttribute::release_threshold)
    return kInvalidValue;
  const std::lock_guard lock(pool->mutex);
  std::memcpy(&pool->threshold, value, sizeof pool->threshold);
  return kSuccess;
}

Result cuMemPoolGetAttribute(MemPool pool, MemPoolAttribute attribute, void* value) {
  if (!handles().has<MemPoolStruct>(pool)) return kInvalidValue;
  const std::lock_guard lock(pool->mutex);
  uint64_t number = 0;
  switch (attribute) {
    case MemPoolAttribute::release_threshold: number = pool->threshold; break;
    case MemPoolAttribute::reserved_current: number = pool->reserved; break;
    case MemPoolAttribute::used_current: number = pool->used; break;
    default: return kInvalidValue;
  }
  std::memcpy(value, &number, sizeof number);
  return kSuccess;
}

Result cuMemPoolTrimTo(MemPool pool, size_t keep) {
  if (!handles().has<MemPoolStruct>(pool)) return kInvalidValue;
  const std::lock_guard lock(pool->mutex);
  pool->reserved = std::min(pool->reserved, std::max(pool->used, keep));
  return kSuccess;
}

Result cuMemAllocAsync(DevicePtr* pointer, size_t bytes, Stream given) {
  StreamStruct* stream = nullptr;
  if (const Result result = find_stream(given, stream); result != kSuccess) return result;
  if (pointer == nullptr || bytes == 0) return kInvalidValue;
  ContextStruct* context = stream->context;
  if (!reserve(context, bytes)) {
    finish_everything(context);  // freed memory may still be in use
    if (!reserve(context, bytes)) return kOutOfMemory;
  }
  const auto memory = machine()->memory.allocate(context->ordinal, bytes);
  if (!memory) {
    unreserve(context, bytes);
    return kOutOfMemory;
  }
  *pointer = *memory;
  return kSuccess;
}

Result cuMemFreeAsync(DevicePtr pointer, Stream given) {
  StreamStruct* stream = nullptr;
  if (const Result result = find_stream(given, stream); result != kSuccess) return result;
  const int device = machine()->memory.device_of(pointer, 1);
  if (!machine()->memory.retire(pointer)) return kInvalidValue;
  ContextStruct* owner = machine()->devices[static_cast<size_t>(device)].get();
  stream->queue->submit([=] {
    bool damage = false;
    unreserve(owner, machine()->memory.release(pointer, damage));
    if (!damage) return;
    std::fprintf(stderr, "emulated_cuda: something was written next to an allocation\n");
    owner->fail(kIllegalAddress);
  });
  return kSuccess;
}

Result cuMemGetInfo(size_t* free, size_t* total) {
  MemPoolStruct& pool = current_context()->pool;
  const std::lock_guard lock(pool.mutex);
  *total = settings().memory;
  *free = settings().memory - pool.reserved;
  return kSuccess;
}

Result cuMemAllocHost(void** memory, size_t bytes) {
  if (memory == nullptr || bytes == 0) return kInvalidValue;
  if (posix_memalign(memory, 256, bytes) != 0) return kOutOfMemory;
  std::memset(*memory, 0xa5, bytes);
  const std::lock_guard lock(machine()->mutex);
  machine()->pinned[*memory] = bytes;
  return kSuccess;
}

Result cuMemFreeHost(void* memory) {
  {
    const std::lock_guard lock(machine()->mutex);
    if (machine()->pinned.erase(memory) == 0) return kInvalidValue;
  }
  std::free(memory);
  return kSuccess;
}

// Host memory is read and written when the stream gets there, pageable memory too: nothing may rely on a
// driver that copies it at once.
Result cuMemcpyHtoDAsync(DevicePtr to, const void* from, size_t bytes, Stream given) {
  StreamStruct* stream = nullptr;
  if (const Result result = find_stream(given, stream); result != kSuccess) return result;
  if (bytes == 0) return kSuccess;
  if (machine()->memory.device_of(to, bytes) != stream->context->ordinal || !on_host(from))
    return kInvalidValue;
  return copy(stream->context, stream, reinterpret_cast<void*>(to), from, bytes);
}

Result cuMemcpyDtoHAsync(void* to, DevicePtr from, size_t bytes, Stream given) {
  StreamStruct* stream = nullptr;
  if (const Result result = find_stream(given, stream); result != kSuccess) return result;
  if (bytes == 0) return kSuccess;
  if (machine()->memory.device_of(from, bytes) != stream->context->ordinal || !on_host(to))
    return kInvalidValue;
  return copy(stream->context, stream, to, reinterpret_cast<const void*>(from), bytes);
}

Result cuMemcpyDtoDAsync(DevicePtr to, DevicePtr from, size_t bytes, Stream given) {
  StreamStruct* stream = nullptr;
  if (const Result result = find_stream(given, stream); result != kSuccess) return result;
  if (bytes == 0) return kSuccess;
  const Memory& memory = machine()->memory;
  const int device = stream->context->ordinal;
  if (memory.device_of(to, bytes) != device || memory.device_of(from, bytes) != device) return kInvalidValue;
  if (overlap(to, from, bytes)) {
    std::fprintf(stderr, "emulated_cuda: a copy's source and destination overlap\n");
    return kInvalidValue;
  }
  return copy(stream->context, stream, reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from),
              bytes);
}

Result cuMemcpyPeerAsync(DevicePtr to, Context to_context, DevicePtr from, Context from_context, size_t bytes,
                         Stream given) {
  StreamStruct* stream = nullptr;
  if (const Result result = find_stream(given, stream); result != kSuccess) return result;
  if (!handles().has<ContextStruct>(to_context) || !handles().has<ContextStruct>(from_context)) return 201;
  if (bytes == 0) return kSuccess;
  const Memory& memory = machine()->memory;
  if (memory.device_of(to, bytes) != to_context->ordinal ||
      memory.device_of(from, bytes) != from_context->ordinal) {
    return kInvalidValue;
  }
  if (from_context->sticky != 0) return from_context->sticky;
  return copy(to_context, stream, reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
}

}  // namespace emulated::driver
