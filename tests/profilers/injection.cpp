// Gets NVTX ranges as a profiler does: a library with InitializeInjectionNvtx2. It writes pushes and pops to
// standard output, indented. Where the toolkit's header is installed, its numbers are used.
#include <cstdint>
#include <cstdio>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
constexpr unsigned kPushA = NVTX_CBID_CORE_RangePushA, kPop = NVTX_CBID_CORE_RangePop;
constexpr uint32_t kCallbacks = NVTX_ETID_CALLBACKS;
constexpr int kCore = NVTX_CB_MODULE_CORE;
#else
constexpr unsigned kPushA = 9, kPop = 11;
constexpr uint32_t kCallbacks = 1;
constexpr int kCore = 1;
#endif

namespace {
int depth = 0;
int push(const char* text) {
  std::printf("%*s%s\n", 2 * depth, "", text);
  return depth++;
}
int pop() { return --depth; }

struct Callbacks {
  size_t size;
  int (*get)(int module, void*** table, unsigned* size);
};
}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    const void* (*table_of)(uint32_t)) {
  const auto* callbacks = static_cast<const Callbacks*>(table_of(kCallbacks));
  void** table = nullptr;
  unsigned size = 0;
  if (!callbacks || !callbacks->get(kCore, &table, &size) || size <= kPop) return 0;
  *reinterpret_cast<int (**)(const char*)>(table[kPushA]) = push;
  *reinterpret_cast<int (**)()>(table[kPop]) = pop;
  return 1;
}
