// Defines what the driver's handles point to.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "backends/cuda/api/types.hpp"
#include "tests/emulated_cuda/handles.hpp"
#include "tests/emulated_cuda/memory.hpp"
#include "tests/emulated_cuda/module_interface.hpp"
#include "tests/emulated_cuda/queue.hpp"
#include "tests/emulated_cuda/scan.hpp"
#include "tests/emulated_cuda/shared_memory.hpp"

namespace emulated {

/// Holds a loaded shared object, which is unloaded with the last work that needs it.
struct LoadedModule {
  void* handle = nullptr;
  const Module* module = nullptr;
  uintptr_t base = 0;
  std::vector<SharedVariable> shared;
  std::string source;
  bool can_be_faster = false;  // with more effort
  std::mutex running;          // held while a kernel runs: one at a time

  // Owned by who holds `running`.
  std::chrono::nanoseconds spent{0};        // in kernels that ran
  std::shared_ptr<LoadedModule> optimised;  // the same, compiled with more effort; null: not yet

  ~LoadedModule();
};

/// Holds what a library was compiled of, without comments.
struct Text {
  std::string name, text;
  std::vector<FoundKernel> kernels;
};

/// Holds a launch with everything it needs, its arguments copied.
struct PreparedLaunch {
  std::shared_ptr<LoadedModule> module;
  const Kernel* kernel;
  ContextStruct* context;
  uint32_t blocks, threads, shared_bytes;
  std::vector<uint64_t> argument;
};

}  // namespace emulated

namespace lazy::cuda_backend::api {

/// Counts a device's pool of memory. Reserved is the most that was used since the last trim or
/// synchronisation.
struct MemPoolStruct {
  std::mutex mutex;
  size_t used = 0, reserved = 0;
  uint64_t threshold = 0;
};

struct StreamStruct {
  ContextStruct* context;
  std::shared_ptr<emulated::Queue> queue = emulated::Queue::start();
};

/// Holds a device, and its primary context.
struct ContextStruct {
  int ordinal = 0;
  MemPoolStruct pool;
  StreamStruct null_stream{this};
  std::mutex mutex;
  std::set<StreamStruct*> streams;  // streams that are alive
  std::atomic<Result> failure = 0;  // of a kernel that ran
  std::atomic<Result> sticky = 0;   // a failure that was reported: the result of every later call

  void fail(Result result) {
    Result none = 0;
    failure.compare_exchange_strong(none, result);
  }
  /// Makes a failure sticky, as a call that synchronises does.
  Result observe() {
    if (failure != 0) sticky = failure.load();
    return sticky;
  }
};

struct EventStruct {
  ContextStruct* context;
  bool timing;
  std::mutex mutex;
  std::shared_ptr<emulated::Queue> queue = nullptr;  // queue in which it was recorded last
  uint64_t number = 0;
  std::shared_ptr<std::chrono::steady_clock::time_point> when = nullptr;  // set when the queue reaches it
};

/// Holds a kernel on a device.
struct FunctionStruct {
  KernelStruct* kernel;
  ContextStruct* context;
  size_t dynamic_limit;  // bytes of shared memory
};

struct KernelStruct {
  std::shared_ptr<const emulated::Text> text;
  const emulated::FoundKernel* found;              // in the text
  std::shared_ptr<emulated::LoadedModule> module;  // null before the first function_of()
  const emulated::Kernel* entry;
  std::mutex mutex;
  std::map<ContextStruct*, FunctionStruct> functions;
};

struct LibraryStruct {
  std::shared_ptr<const emulated::Text> text;
  std::shared_ptr<emulated::LoadedModule> module;  // of all kernels; null: each has another one
  std::mutex mutex;
  std::map<std::string, KernelStruct> kernels;  // kernels that were looked up
};

struct GraphNodeStruct {
  emulated::PreparedLaunch launch;
  std::vector<size_t> needs;  // numbers of nodes in the graph
};

struct GraphStruct {
  std::vector<std::unique_ptr<GraphNodeStruct>> nodes;
};

struct GraphExecStruct {
  std::mutex mutex;
  std::vector<std::pair<GraphNodeStruct*, std::shared_ptr<const emulated::PreparedLaunch>>>
      launches;  // in the order of their execution
};

}  // namespace lazy::cuda_backend::api

namespace emulated {

/// Holds everything that cuInit makes.
struct Machine {
  Memory memory;
  std::vector<std::unique_ptr<ContextStruct>> devices;
  std::mutex mutex;
  std::map<void*, size_t> pinned;  // bytes of host memory of cuMemAllocHost

  Machine();
};
/// Returns null before cuInit.
Machine* machine();
void make_machine();
void drop_machine();

/// Returns the calling thread's context; null if it has none.
ContextStruct*& current_context();

/// Returns the shared memory that a block may have if its function requests it.
size_t optin_shared_bytes();
inline constexpr size_t kMaxParamBytes = 32768;

FunctionStruct* function_of(CudaKernel, ContextStruct*);

/// Checks a launch as the driver does, and copies its arguments.
Result prepare(PreparedLaunch&, void* function, ContextStruct*, const std::array<unsigned, 6>& grid_and_block,
               unsigned shared_bytes, void** params, void** extra);
/// True if all pointers in its argument are to memory that the device has; otherwise the context fails, as it
/// would once the kernel follows one.
bool check_pointers(const PreparedLaunch&);
/// Runs a launch; the context gets its failure.
void execute(const PreparedLaunch&);

}  // namespace emulated
