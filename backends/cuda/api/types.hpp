// Declares the CUDA driver's and NVRTC's types, so that neither building nor starting needs CUDA.
// tests/backends/cuda/abi.cpp compares them with the toolkit's headers where those are installed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace lazy::cuda_backend::api {

using Result = int;  // CUresult, nvrtcResult
inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNotInitialized = 3;
inline constexpr Result kNoDevice = 100;
inline constexpr Result kInvalidDevice = 101;
inline constexpr Result kInvalidImage = 200;
inline constexpr Result kInvalidHandle = 400;
inline constexpr Result kNotFound = 500;
inline constexpr Result kNotReady = 600;
inline constexpr Result kIllegalAddress = 700;
inline constexpr Result kLaunchOutOfResources = 701;
inline constexpr Result kLaunchFailed = 719;
inline constexpr Result kGraphExecUpdateFailure = 910;
inline constexpr Result kNvrtcInvalidOption = 5;

using Device = int;
using DevicePtr = unsigned long long;
inline DevicePtr device_pointer(const void* p) { return reinterpret_cast<uintptr_t>(p); }
using Context = struct ContextStruct*;
using Stream = struct StreamStruct*;
using Event = struct EventStruct*;
using MemPool = struct MemPoolStruct*;
using Library = struct LibraryStruct*;
using CudaKernel = struct KernelStruct*;  // CUkernel
using Function = struct FunctionStruct*;  // CUfunction; a CUkernel may stand for one in a launch
using Graph = struct GraphStruct*;
using GraphNode = struct GraphNodeStruct*;
using GraphExec = struct GraphExecStruct*;
using NvrtcProgram = struct NvrtcProgramStruct*;

/// Declares CUdevice_attribute.
enum class DeviceAttribute : int {
  max_threads_per_block = 1,
  max_grid_x = 5,
  max_shared_memory_per_block = 8,
  warp_size = 10,
  multiprocessors = 16,
  l2_bytes = 38,
  max_threads_per_multiprocessor = 39,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_memory_per_block_optin = 97,
  memory_pools_supported = 115,
};
/// Declares CUmemPool_attribute.
enum class MemPoolAttribute : int {
  release_threshold = 4,
  reserved_current = 5,
  used_current = 7,
};
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDisableTiming = 2;

/// Declares CUDA_KERNEL_NODE_PARAMS (version 2).
struct KernelNodeParams {
  Function function;
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  void** params;
  void** extra;
  CudaKernel kernel;
  Context context;
};

}  // namespace lazy::cuda_backend::api
