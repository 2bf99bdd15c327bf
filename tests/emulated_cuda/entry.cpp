// Implements cuGetProcAddress_v2, and the common part of all functions of the driver.
#include <array>
#include <cstring>
#include <string_view>

#include "tests/emulated_cuda/calls.hpp"
#include "tests/emulated_cuda/driver.hpp"
#include "tests/emulated_cuda/emulated_cuda.hpp"
#include "tests/emulated_cuda/settings.hpp"

namespace emulated {
namespace {

constexpr Result kInvalidContext = 201;

/// Functions that work before cuInit, without a context, or with any.
constexpr std::array kEverywhere = {std::string_view("cuInit"), std::string_view("cuDriverGetVersion"),
                                    std::string_view("cuGetErrorName"), std::string_view("cuGetErrorString")};
constexpr std::array kWithoutContext = {
    std::string_view("cuDeviceGetCount"),      std::string_view("cuDeviceGet"),
    std::string_view("cuDeviceGetName"),       std::string_view("cuDeviceGetAttribute"),
    std::string_view("cuDeviceTotalMem"),      std::string_view("cuDevicePrimaryCtxRetain"),
    std::string_view("cuCtxSetCurrent"),       std::string_view("cuDeviceGetDefaultMemPool"),
    std::string_view("cuMemPoolSetAttribute"), std::string_view("cuMemPoolGetAttribute"),
    std::string_view("cuMemPoolTrimTo"),       std::string_view("cuLibraryLoadData"),
    std::string_view("cuLibraryUnload"),       std::string_view("cuLibraryGetKernel")};

template <class List>
constexpr bool contains(const List& list, std::string_view name) {
  for (const std::string_view one : list) {
    if (one == name) return true;
  }
  return false;
}

/// True for what CUDA's documentation calls errors that leave the process in an inconsistent state.
constexpr bool loses_device(Result result) {
  return result >= 700 && result < 720 && result != kLaunchOutOfResources;
}

Result begin(std::string_view name) {
  const auto injected = count_call(name);
  if (injected && loses_device(*injected) && machine() != nullptr) {
    ContextStruct* context = current_context();
    if (context == nullptr) context = machine()->devices[0].get();
    context->fail(*injected);
    context->observe();
  }
  if (injected) return *injected;
  if (contains(kEverywhere, name)) return kSuccess;
  if (machine() == nullptr) return kNotInitialized;
  if (contains(kWithoutContext, name)) return kSuccess;
  if (current_context() == nullptr) return kInvalidContext;
  return current_context()->sticky;
}

constexpr char kNames[][40] = {
#define LAZY_DRIVER(field, name, ...) #name,
#include "tests/emulated_cuda/driver.def"
};

template <size_t i, auto function>
struct Entry;
template <size_t i, class... Params, Result (*function)(Params...)>
struct Entry<i, function> {
  static Result call(Params... params) {
    if (const Result result = begin(kNames[i]); result != kSuccess) return result;
    return function(params...);
  }
};

enum Index : size_t {
#define LAZY_DRIVER(field, name, ...) k_##name,
#include "tests/emulated_cuda/driver.def"
};

void* find(std::string_view name) {
#define LAZY_DRIVER(field, function, ...) \
  if (name == #function) return reinterpret_cast<void*>(&Entry<k_##function, &driver::function>::call);
#include "tests/emulated_cuda/driver.def"
  return nullptr;
}

}  // namespace
}  // namespace emulated

extern "C" __attribute__((visibility("default"))) int cuGetProcAddress_v2(const char* name, void** function,
                                                                          int version, uint64_t,
                                                                          int* status) {
  // The rows are those of CUDA 12.0; later versions have other functions under some of the names.
  *function = version == 12000 ? emulated::find(name) : nullptr;
  if (status != nullptr) *status = *function == nullptr ? 1 : 0;  // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
  return *function == nullptr ? lazy::cuda_backend::api::kNotFound : lazy::cuda_backend::api::kSuccess;
}

size_t emulated_cuda_live_bytes() {
  return emulated::machine() == nullptr ? 0 : emulated::machine()->memory.live_bytes();
}

void emulated_cuda_reset() {
  emulated::drop_machine();
  emulated::forget_settings();
  emulated::reset_calls();
}
