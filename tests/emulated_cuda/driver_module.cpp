// Implements the driver's functions for libraries, kernels and launches.
#include "tests/emulated_cuda/driver.hpp"
#include "tests/emulated_cuda/image.hpp"
#include "tests/emulated_cuda/module.hpp"
#include "tests/emulated_cuda/settings.hpp"

namespace emulated::driver {
namespace {

constexpr Result kNoBinaryForDevice = 209;

/// True if code for a device runs here: it runs on later devices of the same generation.
bool runs_here(int arch) { return arch / 10 == settings().arch / 10 && arch % 10 <= settings().arch % 10; }

}  // namespace

Result cuLibraryLoadData(Library* library, const void* image, void*, void**, unsigned jit_count, void*,
                         void**, unsigned library_count) {
  if (library == nullptr || image == nullptr || jit_count != 0 || library_count != 0) return kInvalidValue;
  const auto read = read_image(image);
  if (!read) return kInvalidImage;
  if (!runs_here(read->arch)) return kNoBinaryForDevice;
  auto text = std::make_shared<const Text>(
      Text{std::string(read->name), std::string(read->text), find_kernels(read->text)});
  std::shared_ptr<LoadedModule> module;
  if (!read->elf.empty()) {
    module = load(read->elf, wrap(text->text, text->name, text->kernels));
    if (module == nullptr) return kInvalidImage;
  }
  *library =
      new LibraryStruct{.text = std::move(text), .module = std::move(module), .mutex = {}, .kernels = {}};
  handles().add(*library);
  return kSuccess;
}

Result cuLibraryUnload(Library library) {
  if (!handles().has<LibraryStruct>(library)) return kInvalidHandle;
  handles().remove(library);
  for (auto& [name, kernel] : library->kernels) {
    handles().remove(&kernel);
    for (auto& [context, function] : kernel.functions) handles().remove(&function);
  }
  delete library;
  return kSuccess;
}

Result cuLibraryGetKernel(CudaKernel* kernel, Library library, const char* name) {
  if (!handles().has<LibraryStruct>(library)) return kInvalidHandle;
  const std::vector<FoundKernel>& all = library->text->kernels;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].name != name) continue;
    const std::lock_guard lock(library->mutex);
    KernelStruct& of_name = library->kernels[name];
    if (of_name.text == nullptr) {
      of_name.text = library->text;
      of_name.found = &all[i];
      of_name.module = library->module;
      of_name.entry = of_name.module ? of_name.module->module->kernels + i : nullptr;
      handles().add(&of_name);
    }
    *kernel = &of_name;
    return kSuccess;
  }
  return kNotFound;
}

Result cuKernelGetFunction(Function* function, CudaKernel kernel) {
  if (!handles().has<KernelStruct>(kernel)) return kInvalidHandle;
  *function = function_of(kernel, current_context());
  return kSuccess;
}

Result cuFuncGetAttribute(int* value, FunctionAttribute attribute, Function function) {
  if (!handles().has<FunctionStruct>(function)) return kInvalidHandle;
  const KernelStruct& kernel = *function->kernel;
  switch (attribute) {
    case FunctionAttribute::shared_bytes:
      *value = static_cast<int>(bytes_of(kernel.module->shared, kernel.entry->name));
      break;
    case FunctionAttribute::registers: *value = 32; break;
    case FunctionAttribute::max_dynamic_shared_bytes:
      *value = static_cast<int>(function->dynamic_limit);
      break;
    default: return kInvalidValue;
  }
  return kSuccess;
}

Result cuFuncSetAttribute(Function function, FunctionAttribute attribute, int value) {
  if (!handles().has<FunctionStruct>(function)) return kInvalidHandle;
  if (attribute != FunctionAttribute::max_dynamic_shared_bytes || value < 0) return kInvalidValue;
  const KernelStruct& kernel = *function->kernel;
  const size_t bytes = static_cast<size_t>(value);
  if (bytes + bytes_of(kernel.module->shared, kernel.entry->name) > optin_shared_bytes())
    return kInvalidValue;
  function->dynamic_limit = bytes;
  return kSuccess;
}

Result cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream given, void** params,
                      void** extra) {
  StreamStruct* stream = nullptr;
  if (const Result result = find_stream(given, stream); result != kSuccess) return result;
  PreparedLaunch launch;
  const Result result =
      prepare(launch, function, stream->context, {grid_x, grid_y, grid_z, block_x, block_y, block_z},
              shared_bytes, params, extra);
  if (result != kSuccess) return result;
  if (!check_pointers(launch)) return kSuccess;
  stream->queue->submit([launch = std::move(launch)] { execute(launch); });
  return kSuccess;
}

}  // namespace emulated::driver
