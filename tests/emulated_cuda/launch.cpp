#include <chrono>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "tests/emulated_cuda/compiler.hpp"
#include "tests/emulated_cuda/emulated_cuda.hpp"
#include "tests/emulated_cuda/grid.hpp"
#include "tests/emulated_cuda/module.hpp"
#include "tests/emulated_cuda/objects.hpp"
#include "tests/emulated_cuda/settings.hpp"

namespace emulated {
namespace {

std::atomic<int64_t> kernels_run = 0;

/// Returns the function of a CUkernel on the launch's device.
FunctionStruct* function_on(void* handle, ContextStruct* context) {
  if (handles().has<FunctionStruct>(handle)) return static_cast<FunctionStruct*>(handle);
  Function function = nullptr;
  if (handles().has<KernelStruct>(handle)) function = function_of(static_cast<CudaKernel>(handle), context);
  return function;
}

bool is_pinned(DevicePtr pointer) {
  const std::lock_guard lock(machine()->mutex);
  const auto after = machine()->pinned.upper_bound(reinterpret_cast<void*>(pointer));
  if (after == machine()->pinned.begin()) return false;
  const auto& [start, bytes] = *std::prev(after);
  return pointer - reinterpret_cast<DevicePtr>(start) < bytes;
}

/// Returns what a launch runs, of the module or of its twin.
Code code_of(const PreparedLaunch& launch, const LoadedModule& in, char* dynamic) {
  const Kernel* kernel = in.module->kernels + (launch.kernel - launch.module->module->kernels);
  Code code{kernel, in.module->state, {}};
  for (const SharedVariable& v : in.shared) {
    if (v.belongs_to(kernel->name)) {
      code.shared.emplace_back(reinterpret_cast<char*>(in.base + v.address), v.bytes);
    }
  }
  if (launch.shared_bytes != 0) code.shared.emplace_back(dynamic, launch.shared_bytes);
  return code;
}

}  // namespace

size_t optin_shared_bytes() {
  switch (settings().arch) {
    case 75: return 64 << 10;
    case 80:
    case 87: return 163 << 10;
    case 86:
    case 89:
    case 120:
    case 121: return 99 << 10;
    default: return 227 << 10;
  }
}

FunctionStruct* function_of(CudaKernel kernel, ContextStruct* context) {
  const std::lock_guard lock(kernel->mutex);
  if (kernel->module == nullptr) {
    kernel->module = load_kernel(*kernel->text, *kernel->found);
    kernel->entry = kernel->module->module->kernels;
  }
  const auto [at, fresh] = kernel->functions.try_emplace(
      context, FunctionStruct{kernel, context,
                              kDefaultSharedBytes - bytes_of(kernel->module->shared, kernel->entry->name)});
  if (fresh) handles().add(&at->second);
  return &at->second;
}

Result prepare(PreparedLaunch& launch, void* handle, ContextStruct* context,
               const std::array<unsigned, 6>& grid_and_block, unsigned shared_bytes, void** params,
               void** extra) {
  FunctionStruct* function = function_on(handle, context);
  if (function == nullptr || function->context != context) return kInvalidHandle;
  const auto [blocks, grid_y, grid_z, threads, block_y, block_z] = grid_and_block;
  if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || extra != nullptr) {
    std::fprintf(stderr,
                 "emulated_cuda: grids and blocks have one dimension here, and arguments come in `params`\n");
    return kInvalidValue;
  }
  if (blocks == 0 || blocks > 0x7fffffff || threads == 0 || threads > 1024) return kInvalidValue;
  const KernelStruct& kernel = *function->kernel;
  if (shared_bytes > function->dynamic_limit) return kInvalidValue;
  if (kernel.entry->launch_bounds != 0 && threads > kernel.entry->launch_bounds) return kLaunchOutOfResources;
  if (params == nullptr || params[0] == nullptr) return kInvalidValue;
  launch = {kernel.module, kernel.entry, context, blocks, threads, shared_bytes, {}};
  launch.argument.resize((kernel.entry->param_bytes + 7) / 8);
  std::memcpy(launch.argument.data(), params[0], kernel.entry->param_bytes);
  return kSuccess;
}

bool check_pointers(const PreparedLaunch& launch) {
  if (settings().host_pointers) return true;
  for (const unsigned* offset = launch.kernel->pointers; *offset != ~0u; ++offset) {
    const DevicePtr pointer = launch.argument[*offset / 8];
    const int device = machine()->memory.device_of(pointer, 1);
    if (pointer == 0 || device == launch.context->ordinal || is_pinned(pointer)) continue;
    std::fprintf(stderr,
                 "emulated_cuda: kernel '%s': the pointer at byte %u of its argument, %#llx, is to %s\n",
                 launch.kernel->name, *offset, pointer,
                 device >= 0 ? "another device's memory" : "no memory of the device, or to freed memory");
    launch.context->fail(kIllegalAddress);
    return false;
  }
  return true;
}

void execute(const PreparedLaunch& launch) {
  if (launch.context->failure != 0) return;
  LoadedModule& module = *launch.module;
  const std::lock_guard lock(module.running);
  // The argument is a copy: a kernel that writes to its parameters does not change those of a graph.
  alignas(16) std::array<uint64_t, kMaxParamBytes / 8> argument;
  std::copy(launch.argument.begin(), launch.argument.end(), argument.begin());
  void* params[] = {argument.data()};
  const auto dynamic = std::make_unique<char[]>(launch.shared_bytes);
  Grid grid{{}, launch.blocks, launch.threads, params, settings().patience - module.spent, {}};
  grid.code = code_of(launch, module.optimised ? *module.optimised : module, dynamic.get());
  if (!module.optimised && module.can_be_faster) {
    grid.faster = [&] {
      module.optimised = load_optimised(module);
      return code_of(launch, *module.optimised, dynamic.get());
    };
  }
  grid.code.state->dynamic_shared = dynamic.get();
  const Memory::Access access(machine()->memory);
  const auto start = std::chrono::steady_clock::now();
  const std::string failure = run(grid);
  module.spent += std::chrono::steady_clock::now() - start;
  ++kernels_run;
  if (failure.empty()) return;
  std::fprintf(stderr, "emulated_cuda: %s\n", failure.c_str());
  launch.context->fail(kLaunchFailed);
}

}  // namespace emulated

int64_t emulated_cuda_kernels_run() { return emulated::kernels_run; }
