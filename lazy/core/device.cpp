#include "lazy/core/device.hpp"

#include "jit/backend/registry.hpp"
#include "support/error.hpp"
#include "support/log.hpp"

namespace lazy {

Device default_device(Site s) { return jit::default_device(s); }
void set_default_device(Device d, Site s) { jit::set_default_device(d, s); }

bool is_available(Device d) {
  try {
    (void)jit::backend_of(d, Site{});
    return true;
  } catch (const DeviceError& e) {
    if (logging::enabled(logging::Channel::device)) logging::write(logging::Channel::device, e.what());
    return false;
  }
}

int cuda_device_count() {
  try {
    return jit::backends().cuda->count();
  } catch (const DeviceError& e) {
    if (logging::enabled(logging::Channel::device)) logging::write(logging::Channel::device, e.what());
    return 0;
  }
}

std::string describe(Device d, Site s) { return jit::backend_of(d, s).describe(); }

void synchronize(Device d, Site s) {
  jit::Backend& b = jit::backend_of(d, s);
  located<DeviceError>(s, [&] { b.synchronize(); });
}

void synchronize(Site s) {
  for (jit::Backend* b : jit::backends().cuda->in_use()) synchronize(b->device(), s);
}

}  // namespace lazy
