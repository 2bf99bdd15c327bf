// Implements the protocol by which NVTX 3 attaches a profiler (nvtx3/nvtxDetail/nvtxInit.h, nvtxTypes.h of
// the CUDA toolkit): the profiler's library is opened and given a function that hands out tables; it writes
// its own functions into the table of core functions.
#include "support/nvtx.hpp"

#include "support/lock.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace lazy::nvtx::detail {

constinit std::atomic<int> state{0};
constinit Functions functions;

namespace {

constexpr uint32_t kCallbacks = 1, kVersionInfo = 3;       // NVTX_ETID_*
constexpr int kCore = 1;                                   // NVTX_CB_MODULE_CORE
constexpr unsigned kPushA = 9, kPop = 11, kCoreSize = 16;  // NVTX_CBID_CORE_*

using FunctionPointer = void (*)();
void* unused[kCoreSize];  // of functions that are never called
FunctionPointer* core[kCoreSize + 1];

int module_table(int module, FunctionPointer*** table, unsigned* size) {
  if (module != kCore) return 0;
  if (size) *size = kCoreSize;
  if (table) *table = core;
  return 1;
}
const struct {
  size_t size = sizeof(size_t) + sizeof(void*);
  int (*get)(int, FunctionPointer***, unsigned*) = module_table;
} callbacks;
const struct {
  size_t size = 3 * sizeof(size_t);
  uint32_t version = 3, reserved = 0;
  void (*set)(uint32_t) = [](uint32_t) {};
} version_info;

const void* export_table(uint32_t id) {
  if (id == kCallbacks) return &callbacks;
  if (id == kVersionInfo) return &version_info;
  return nullptr;
}

bool listen(const char* path) {
  void* const library = dlopen(path, RTLD_LAZY);
  if (!library) return false;
  using Initialise = int (*)(const void* (*)(uint32_t));
  const auto initialise = reinterpret_cast<Initialise>(dlsym(library, "InitializeInjectionNvtx2"));
  for (unsigned i = 1; i < kCoreSize; ++i) core[i] = reinterpret_cast<FunctionPointer*>(&unused[i]);
  core[kPushA] = reinterpret_cast<FunctionPointer*>(&functions.push);
  core[kPop] = reinterpret_cast<FunctionPointer*>(&functions.pop);
  return initialise && initialise(export_table) && functions.push && functions.pop;
}

}  // namespace

bool attach() {
  static constinit Mutex lock;
  const Hold hold(lock);
  if (state.load(std::memory_order_relaxed) == 0) {
    const char* const path = secure_getenv("NVTX_INJECTION64_PATH");
    state.store(path && *path && listen(path) ? 2 : 1, std::memory_order_release);
  }
  return state.load(std::memory_order_relaxed) == 2;
}

}  // namespace lazy::nvtx::detail
