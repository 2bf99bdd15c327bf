// Needs values while threads and the process end: late_child <when> <thread>. Prints a line for each value.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "jit/built_in/registry.hpp"
#include "jit/calls/call.hpp"
#include "jit/graph/record.hpp"
#include "lazy/lazy.hpp"

using namespace lazy;

namespace {

constinit std::atomic<int> ended{0};  // number of destructors of Late that ran

/// Does everything a program may do, with values that are left and new ones; also of sizes that several
/// threads share.
void use(const char* when, const Tensor& left) {
  try {
    const double old = sum(left * 2 + 1).item<double>();
    const Tensor large = arange(0, 400000, 1, float64);
    const double fresh = sum(large * 0.5 - left(3)).item<double>();
    Tensor row = full({40}, 2, float32);
    row(slice(0, 10)) = 5;
    double other = 0;
    std::thread([&] { other = sum(row + 1).item<double>(); }).join();
    const bool counted = metrics().flushes >= 3 && !cache::programs().empty() && cache::stats().entries > 0;
    std::printf("%s: %g %g %g %s\n", when, old, fresh, other, counted ? "counted" : "not counted");
  } catch (const std::exception& e) { std::printf("%s: %s\n", when, e.what()); }
  std::fflush(stdout);
}

struct Late {
  const char* when = "";
  Tensor left;
  Late() = default;
  ~Late() {
    if (left.defined()) use(when, left);
    left = Tensor();
    ++ended;
  }
  void keep(const char* w) {
    when = w;
    left = arange(0, 10, 1, float32) + 1;
  }
};

/// Records an effect that nobody runs.
void record_effect() {
  static constexpr auto no_outputs = [](const jit::CallSpec&, std::span<const jit::Meta>) {
    return std::vector<jit::CallOutput>();
  };
  static constinit const jit::CallDefinition effect{.name = "test.effect",
                                                    .traits = jit::call_trait::kEffect,
                                                    .infer = no_outputs,
                                                    .run = [](const jit::CallRun&) { std::abort(); }};
  jit::register_call(effect);
  (void)jit::record_call(jit::intern_call(effect, std::string_view()), {}, Site::current());
}

Late in_static;
thread_local Late in_thread_local;
pthread_key_t key;

void work(const std::string& when) {
  if (when == "thread_local") (void)&in_thread_local;  // made before anything that the library may have
  if (when == "key") {
    pthread_key_create(&key, [](void* late) { delete static_cast<Late*>(late); });
    pthread_setspecific(key, new Late);
  }
  const Tensor x = arange(0, 10, 1, float32);
  if (sum(x * 3).item<double>() != 135) std::abort();
  if (when == "static") in_static.keep("static");
  if (when == "thread_local" || when == "thread_local_later") in_thread_local.keep("thread_local");
  if (when == "key") static_cast<Late*>(pthread_getspecific(key))->keep("key");
  if (when == "atexit") {
    static Late held;
    held.left = x + 1;
    std::atexit([] {
      use("atexit", held.left);
      held.left = Tensor();
    });
  }
  if (when == "effect") record_effect();
  if (when == "dropped") {  // nothing is needed: pending nodes are dropped
    thread_local Tensor pending;
    pending = x + 1;
    static Tensor other;
    other = exp(x);
  }
}

}  // namespace

int main(int, char** arguments) {
  ::alarm(100);
  const std::string when = arguments[1], thread = arguments[2];
  if (thread == "main") {
    work(when);
    if (when == "key") delete static_cast<Late*>(pthread_getspecific(key));  // main's are never called
    return 0;
  }
  static std::atomic<bool> worked{false};
  std::thread t([&] {
    work(when);
    worked = true;
  });
  if (thread == "detached") {
    t.detach();
    const bool as_it_ends = when != "static" && when != "atexit" && when != "dropped" && when != "effect";
    while (!worked || (as_it_ends && ended == 0)) std::this_thread::yield();
  } else {
    t.join();
  }
  return 0;
}
