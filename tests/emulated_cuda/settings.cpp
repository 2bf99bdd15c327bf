#include "tests/emulated_cuda/settings.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>

namespace emulated {
namespace {

// Never destroyed: streams may still be working when the process ends.
std::mutex& mutex = *new std::mutex;
std::optional<Settings>& current = *new std::optional<Settings>;

[[noreturn]] void refuse(const char* variable, std::string_view text) {
  std::fprintf(stderr, "emulated_cuda: %s=%.*s is not understood\n", variable, static_cast<int>(text.size()),
               text.data());
  std::_Exit(2);
}

template <class T>
T number(const char* variable, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) refuse(variable, text);
  return value;
}

size_t bytes(const char* variable, std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    if (text.back() == 'K') shift = 10;
    if (text.back() == 'M') shift = 20;
    if (text.back() == 'G') shift = 30;
  }
  return number<size_t>(variable, text.substr(0, text.size() - (shift != 0))) << shift;
}

Settings read() {
  Settings s;
  const auto with = [](const char* name, auto use) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
      use(name, std::string_view(value));
  };
  with("EMULATED_CUDA_DEVICES", [&](auto name, auto text) { s.devices = number<int>(name, text); });
  with("EMULATED_CUDA_ARCH", [&](auto name, auto text) {
    if (text.substr(0, 3) != "sm_") refuse(name, text);
    s.arch = number<int>(name, text.substr(3));
  });
  with("EMULATED_CUDA_VERSION", [&](auto name, auto text) { s.version = number<int>(name, text); });
  with("EMULATED_CUDA_MEMORY", [&](auto name, auto text) { s.memory = bytes(name, text); });
  with("EMULATED_CUDA_MULTIPROCESSORS",
       [&](auto name, auto text) { s.multiprocessors = number<int>(name, text); });
  with("EMULATED_CUDA_ORDER", [&](auto name, auto text) {
    if (text == "forward") {
      s.order = Order::forward;
    } else if (text == "reverse") {
      s.order = Order::reverse;
    } else if (text.substr(0, 8) == "shuffled") {
      s.order = Order::shuffled;
      if (text.size() > 8) {
        if (text[8] != ':') refuse(name, text);
        s.seed = number<uint64_t>(name, text.substr(9));
      }
    } else {
      refuse(name, text);
    }
  });
  with("EMULATED_CUDA_ASYNC", [&](auto name, auto text) {
    const auto delay = number<int64_t>(name, text);
    s.async = delay != 0;
    s.delay = std::chrono::microseconds(delay == 1 ? 1000 : delay);
  });
  with("EMULATED_CUDA_COMPILE", [&](auto name, auto text) {
    if (text != "all" && text != "launched") refuse(name, text);
    s.at_launch = text == "launched";
  });
  with("EMULATED_CUDA_PATIENCE",
       [&](auto name, auto text) { s.patience = std::chrono::milliseconds(number<int64_t>(name, text)); });
  with("EMULATED_CUDA_HOST_POINTERS",
       [&](auto name, auto text) { s.host_pointers = number<int>(name, text) != 0; });
  with("EMULATED_CUDA_PROTECT", [&](auto name, auto text) { s.protect = number<int>(name, text) != 0; });
  with("EMULATED_CUDA_STALL", [&](auto name, auto text) {
    const size_t colon = text.find(':');
    if (colon == text.npos) refuse(name, text);
    s.stall_rank = number<int>(name, text.substr(0, colon));
    s.stall_group = number<int>(name, text.substr(colon + 1));
  });
  with("EMULATED_CUDA_INJECT", [&](auto, auto text) { s.inject = text; });
  with("EMULATED_CUDA_CACHE", [&](auto, auto text) { s.cache = text; });
  return s;
}

}  // namespace

const Settings& settings() {
  const std::lock_guard lock(mutex);
  if (!current) current = read();
  return *current;
}

void forget_settings() {
  const std::lock_guard lock(mutex);
  current.reset();
}

}  // namespace emulated
