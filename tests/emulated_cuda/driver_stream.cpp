// Implements the driver's functions for streams and events.
#include "tests/emulated_cuda/driver.hpp"

namespace emulated::driver {

Result find_stream(Stream given, StreamStruct*& stream) {
  if (given != nullptr && !handles().has<StreamStruct>(given)) return kInvalidHandle;
  stream = given != nullptr ? given : &current_context()->null_stream;
  return stream->context->sticky;
}

Result synchronised(ContextStruct* context) {
  MemPoolStruct& pool = context->pool;
  const std::lock_guard lock(pool.mutex);
  pool.reserved = std::min(pool.reserved, std::max<size_t>(pool.used, pool.threshold));
  return context->observe();
}

Result cuStreamCreate(Stream* stream, unsigned flags) {
  if (flags > kStreamNonBlocking) return kInvalidValue;
  ContextStruct* context = current_context();
  *stream = new StreamStruct{context};
  handles().add(*stream);
  const std::lock_guard lock(context->mutex);
  context->streams.insert(*stream);
  return kSuccess;
}

Result cuStreamDestroy(Stream stream) {
  if (!handles().has<StreamStruct>(stream)) return kInvalidHandle;
  handles().remove(stream);
  stream->queue->finish();
  {
    const std::lock_guard lock(stream->context->mutex);
    stream->context->streams.erase(stream);
  }
  delete stream;
  return kSuccess;
}

Result cuStreamSynchronize(Stream given) {
  StreamStruct* stream = nullptr;
  if (const Result result = find_stream(given, stream); result != kSuccess) return result;
  stream->queue->wait_for(stream->queue->last());
  return synchronised(stream->context);
}

Result cuStreamWaitEvent(Stream given, Event event, unsigned flags) {
  StreamStruct* stream = nullptr;
  if (const Result result = find_stream(given, stream); result != kSuccess) return result;
  if (!handles().has<EventStruct>(event)) return kInvalidHandle;
  if (flags != 0) return kInvalidValue;
  const std::lock_guard lock(event->mutex);
  if (event->queue == nullptr || event->queue == stream->queue) return kSuccess;
  stream->queue->submit([queue = event->queue, number = event->number] { queue->wait_for(number); });
  return kSuccess;
}

Result cuEventCreate(Event* event, unsigned flags) {
  if ((flags & ~kEventDisableTiming) != 0) return kInvalidValue;
  *event = new EventStruct{
      .context = current_context(), .timing = (flags & kEventDisableTiming) == 0, .mutex = {}};
  handles().add(*event);
  return kSuccess;
}

Result cuEventDestroy(Event event) {
  if (!handles().has<EventStruct>(event)) return kInvalidHandle;
  handles().remove(event);
  delete event;
  return kSuccess;
}

Result cuEventRecord(Event event, Stream given) {
  StreamStruct* stream = nullptr;
  if (const Result result = find_stream(given, stream); result != kSuccess) return result;
  if (!handles().has<EventStruct>(event) || event->context != stream->context) return kInvalidHandle;
  const std::lock_guard lock(event->mutex);
  event->when = std::make_shared<std::chrono::steady_clock::time_point>();
  event->queue = stream->queue;
  event->number = stream->queue->submit([when = event->when] { *when = std::chrono::steady_clock::now(); });
  return kSuccess;
}

Result cuEventQuery(Event event) {
  if (!handles().has<EventStruct>(event)) return kInvalidHandle;
  const std::lock_guard lock(event->mutex);
  if (event->queue != nullptr && !event->queue->is_done(event->number)) return kNotReady;
  return event->context->observe();
}

Result cuEventSynchronize(Event event) {
  if (!handles().has<EventStruct>(event)) return kInvalidHandle;
  std::shared_ptr<Queue> queue;
  uint64_t number = 0;
  {
    const std::lock_guard lock(event->mutex);
    queue = event->queue;
    number = event->number;
  }
  if (queue != nullptr) queue->wait_for(number);
  return synchronised(event->context);
}

Result cuEventElapsedTime(float* milliseconds, Event start, Event end) {
  if (!handles().has<EventStruct>(start) || !handles().has<EventStruct>(end) || !start->timing ||
      !end->timing) {
    return kInvalidHandle;
  }
  for (EventStruct* event : {start, end}) {
    const std::lock_guard lock(event->mutex);
    if (event->queue == nullptr) return kInvalidHandle;
    if (!event->queue->is_done(event->number)) return kNotReady;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(*end->when - *start->when).count();
  return kSuccess;
}

}  // namespace emulated::driver
