#include "support/forks.hpp"

#include <pthread.h>

#include "support/error.hpp"

namespace lazy::forks {
namespace detail {
constinit std::atomic<uint32_t> generation{0};
}

namespace {

constexpr size_t kMost = 8;
constinit std::atomic<void (*)()> handlers[kMost]{};

void begin_child() {
  detail::generation.fetch_add(1, std::memory_order_relaxed);
  for (auto& h : handlers)
    if (const auto f = h.load(std::memory_order_acquire)) f();
}

/// Registers the handler early: a program may fork before main, in the constructors of its static objects.
__attribute__((constructor(101))) void register_handler() { pthread_atfork(nullptr, nullptr, begin_child); }

}  // namespace

void fail_left_behind() {
  throw DeviceError(
      "this process was forked while another thread of its parent was at work on what is needed here");
}

void in_child(void (*f)()) noexcept {
  for (auto& h : handlers) {
    void (*none)() = nullptr;
    if (h.compare_exchange_strong(none, f, std::memory_order_acq_rel) || none == f) return;
  }
}

}  // namespace lazy::forks
