#include "jit/backend/registry.hpp"

#include <atomic>

#include "jit/backend/buffer.hpp"
#include "support/config.hpp"
#include "support/error.hpp"
#include "support/lock.hpp"
#include "support/log.hpp"

namespace lazy {

std::string to_string(Device d) {
  return d.kind == DeviceKind::cpu ? "cpu" : "cuda:" + std::to_string(d.index);
}

}  // namespace lazy

namespace lazy::jit {
namespace {

constexpr int kUnset = -1;
std::atomic<int> chosen{kUnset};  // kind << 8 | index

/// Returns the device of LAZY_DEVICE=auto: the first GPU if there is one that can be used.
Device best_device() {
  static constinit Once<Device> best;
  return best.get([] {
    try {
      if (backends().cuda->count() > 0) return Device{DeviceKind::cuda, 0};
    } catch (const DeviceError& e) {
      if (logging::enabled(logging::Channel::device))
        logging::print(logging::Channel::device, "LAZY_DEVICE=auto: %s", e.what());
    }
    return Device{};
  });
}

}  // namespace

Backends& backends() {
  static constinit Once<Backends> all;
  return all.get(make_backends);
}

Backend& backend_of(Device d, const Site& site) {
  if (d.kind == DeviceKind::cpu) return *backends().main;
  return located<DeviceError>(site, [&]() -> Backend& {
    const int count = backends().cuda->count();
    if (d.index < count) return backends().cuda->at(d.index);
    throw DeviceError("there is no " + to_string(d) + ": this machine has " + std::to_string(count) +
                      (count == 1 ? " CUDA device" : " CUDA devices"));
  });
}

Backend& backend_of(const Buffer& b) { return b.backend() ? *b.backend() : *backends().main; }

Device default_device(const Site& site) {
  const int set = chosen.load(std::memory_order_relaxed);
  if (set != kUnset) return {static_cast<DeviceKind>(set >> 8), static_cast<uint8_t>(set & 0xff)};
  switch (config::get().device.get()) {
    case config::DefaultDevice::cpu: break;
    case config::DefaultDevice::auto_: return best_device();
    case config::DefaultDevice::cuda: {
      constexpr Device first{DeviceKind::cuda, 0};
      static std::atomic<bool> is_there{false};  // this is read for every literal
      if (!is_there.load(std::memory_order_relaxed)) {
        (void)backend_of(first, site);
        is_there.store(true, std::memory_order_relaxed);
      }
      return first;
    }
  }
  return {};
}

void set_default_device(Device d, const Site& site) {
  (void)backend_of(d, site);
  chosen.store(static_cast<int>(d.kind) << 8 | d.index, std::memory_order_relaxed);
}

}  // namespace lazy::jit
