#include "backends/cuda/gpu.hpp"

#include "support/error.hpp"
#include "support/log.hpp"
#include "support/text.hpp"

namespace lazy::cuda_backend {

void fail_in_child() {
  throw DeviceError(
      "CUDA was used before this process was forked, and works only in the process that began with it");
}

Gpu::Gpu(int ordinal_)
    : driver(api::driver()),
      ordinal(ordinal_),
      allocator(*this),
      staging(*this),
      graphs(*this),
      blas(*this),
      fft(*this) {
  check(driver.device_get(&handle, ordinal), "cuDeviceGet");
  char text[256] = {};
  check(driver.device_name(text, sizeof text - 1, handle), "cuDeviceGetName");
  name = text;
  architecture = 10 * attribute(api::DeviceAttribute::compute_capability_major) +
                 attribute(api::DeviceAttribute::compute_capability_minor);
  multiprocessors = attribute(api::DeviceAttribute::multiprocessors);
  check(driver.device_memory(&memory, handle), "cuDeviceTotalMem");
  if (!attribute(api::DeviceAttribute::memory_pools_supported))
    throw DeviceError("cuda:" + std::to_string(ordinal) + " (" + name + ") has no memory pools");
  check(driver.primary_context_retain(&context, handle), "cuDevicePrimaryCtxRetain");
  enter();
  check(driver.stream_create(&stream, api::kStreamNonBlocking), "cuStreamCreate");
  allocator.start();
  if (logging::enabled(logging::Channel::device))
    logging::print(logging::Channel::device, "cuda:%d is %s, sm_%d, %s, CUDA %d.%d", ordinal, name.c_str(),
                   architecture, text::human_size(memory).c_str(), driver.version / 1000,
                   driver.version % 1000 / 10);
}

int Gpu::attribute(api::DeviceAttribute a) const {
  int v = 0;
  check(driver.device_attribute(&v, a, handle), "cuDeviceGetAttribute");
  return v;
}

void Gpu::fail(api::Result r, const char* what) const {
  std::string text = "cuda:" + std::to_string(ordinal);
  if (!name.empty()) text += " (" + name + ")";
  text += std::string(": ") + what + ": " + api::describe(r);
  // Errors of work that is under way come up at any later call, and for good.
  if (r >= api::kIllegalAddress && r < 800)
    text += "; earlier work on the device failed, and it takes no more";
  throw DeviceError(text);
}

void Gpu::launch_now(const Launched& l) const {
  void* params[] = {const_cast<uint64_t*>(l.words)};
  check(driver.launch(l.function, l.blocks, 1, 1, l.threads, 1, 1, l.shared_bytes, stream, params, nullptr),
        "cuLaunchKernel");
}

void Gpu::synchronize() const {
  before_other_work();
  enter();
  check(driver.stream_synchronize(stream), "cuStreamSynchronize");
}

}  // namespace lazy::cuda_backend
