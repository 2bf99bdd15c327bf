#include "lazy/core/device.hpp"

#include <charconv>

#include "jit/backend/registry.hpp"
#include "lazy/core/arg.hpp"
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

Device detail::device_named(std::string_view name, const Site& s) {
  if (name == "cpu") return cpu;
  if (name == "cuda") return cuda;
  constexpr std::string_view kPrefix = "cuda:";
  int index = 0;
  const char* const end = name.data() + name.size();
  if (name.starts_with(kPrefix)) {
    const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, index);
    if (error == std::errc() && stop == end && index >= 0) return cuda(index);
  }
  throw DeviceError("there is no device \"" + std::string(name) + "\": names are cpu, cuda, cuda:1", s);
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
