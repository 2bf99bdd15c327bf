// Implements the driver's functions for devices and contexts.
#include <cstdio>

#include "tests/emulated_cuda/driver.hpp"
#include "tests/emulated_cuda/settings.hpp"

namespace emulated::driver {
namespace {

struct Error {
  Result result;
  const char *name, *text;
};
constexpr Error kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kGraphExecUpdateFailure, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed"},
};

const Error* find_error(Result result) {
  for (const Error& error : kErrors) {
    if (error.result == result) return &error;
  }
  return nullptr;
}

ContextStruct* find_device(Device device) {
  const auto& devices = machine()->devices;
  return device >= 0 && device < static_cast<int>(devices.size()) ? devices[static_cast<size_t>(device)].get()
                                                                  : nullptr;
}

}  // namespace

Result cuInit(unsigned flags) {
  if (flags != 0) return kInvalidValue;
  if (settings().devices == 0) return kNoDevice;
  make_machine();
  return kSuccess;
}

Result cuDriverGetVersion(int* version) {
  *version = settings().version;
  return kSuccess;
}

Result cuGetErrorName(Result result, const char** name) {
  const Error* error = find_error(result);
  *name = error == nullptr ? nullptr : error->name;
  return error == nullptr ? kInvalidValue : kSuccess;
}

Result cuGetErrorString(Result result, const char** text) {
  const Error* error = find_error(result);
  *text = error == nullptr ? nullptr : error->text;
  return error == nullptr ? kInvalidValue : kSuccess;
}

Result cuDeviceGetCount(int* count) {
  *count = static_cast<int>(machine()->devices.size());
  return kSuccess;
}

Result cuDeviceGet(Device* device, int ordinal) {
  if (find_device(ordinal) == nullptr) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

Result cuDeviceGetName(char* name, int size, Device device) {
  if (find_device(device) == nullptr) return kInvalidDevice;
  std::snprintf(name, static_cast<size_t>(size), "Emulated device (sm_%d)", settings().arch);
  return kSuccess;
}

Result cuDeviceGetAttribute(int* value, DeviceAttribute attribute, Device device) {
  if (find_device(device) == nullptr) return kInvalidDevice;
  switch (attribute) {
    case DeviceAttribute::max_threads_per_block: *value = 1024; break;
    case DeviceAttribute::max_grid_x: *value = 0x7fffffff; break;
    case DeviceAttribute::max_shared_memory_per_block: *value = static_cast<int>(kDefaultSharedBytes); break;
    case DeviceAttribute::warp_size: *value = 32; break;
    case DeviceAttribute::multiprocessors: *value = settings().multiprocessors; break;
    case DeviceAttribute::l2_bytes: *value = 50 << 20; break;
    case DeviceAttribute::max_threads_per_multiprocessor: *value = 2048; break;
    case DeviceAttribute::compute_capability_major: *value = settings().arch / 10; break;
    case DeviceAttribute::compute_capability_minor: *value = settings().arch % 10; break;
    case DeviceAttribute::max_shared_memory_per_block_optin:
      *value = static_cast<int>(optin_shared_bytes());
      break;
    case DeviceAttribute::memory_pools_supported: *value = 1; break;
    default:
      std::fprintf(stderr, "emulated_cuda: no device attribute %d here\n", static_cast<int>(attribute));
      return kInvalidValue;
  }
  return kSuccess;
}

Result cuDeviceTotalMem(size_t* bytes, Device device) {
  if (find_device(device) == nullptr) return kInvalidDevice;
  *bytes = settings().memory;
  return kSuccess;
}

Result cuDevicePrimaryCtxRetain(Context* context, Device device) {
  *context = find_device(device);
  return *context == nullptr ? kInvalidDevice : kSuccess;
}

Result cuCtxSetCurrent(Context context) {
  if (context != nullptr && !handles().has<ContextStruct>(context)) return 201;
  current_context() = context;
  return kSuccess;
}

Result cuDeviceGetDefaultMemPool(MemPool* pool, Device device) {
  ContextStruct* context = find_device(device);
  if (context == nullptr) return kInvalidDevice;
  *pool = &context->pool;
  return kSuccess;
}

}  // namespace emulated::driver
