#include "tests/emulated_cuda/objects.hpp"

#include <cstdlib>

#include "tests/emulated_cuda/settings.hpp"

namespace emulated {
namespace {

std::atomic<Machine*> the_machine = nullptr;  // never destroyed at exit: streams have threads

}  // namespace

Handles& handles() {
  static Handles& all = *new Handles;
  return all;
}

Machine::Machine() {
  for (int i = 0; i < settings().devices; ++i) {
    devices.push_back(std::make_unique<ContextStruct>());
    devices.back()->ordinal = i;
    handles().add(devices.back().get());
    handles().add(&devices.back()->pool);
  }
}

Machine* machine() { return the_machine; }

void make_machine() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (the_machine == nullptr) the_machine = new Machine;
}

void drop_machine() {
  Machine* old = the_machine;
  if (old == nullptr) return;
  for (const auto& context : old->devices) {
    context->streams.insert(&context->null_stream);
    for (StreamStruct* stream : context->streams) stream->queue->wait_for(stream->queue->last());
  }
  for (const auto& context : old->devices) {
    for (StreamStruct* stream : context->streams) {
      stream->queue->finish();
      if (stream != &context->null_stream) delete stream;
    }
  }
  the_machine = nullptr;  // after the last work, which uses it
  handles().clear();
  old->memory.clear();
  for (const auto& [memory, bytes] : old->pinned) std::free(memory);
  delete old;
}

ContextStruct*& current_context() {
  thread_local ContextStruct* current = nullptr;
  if (current != nullptr && !handles().has<ContextStruct>(current)) current = nullptr;  // before a reset
  return current;
}

}  // namespace emulated
