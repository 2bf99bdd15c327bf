#include "backends/cpu/code_memory.hpp"

#include <unistd.h>

#include <cstdio>
#include <mutex>

#include "backends/cpu/emitter/kernel_writer.hpp"
#include "support/config.hpp"
#include "support/error.hpp"

namespace lazy::cpu {
namespace {

// Never destroyed: kernels may be released by other objects' destructors after main.
asmjit::JitRuntime& runtime() {
  static asmjit::JitRuntime* const r = [] {
    asmjit::JitAllocator::CreateParams p{};
    p.options = asmjit::JitAllocatorOptions::kUseDualMapping;
    return new asmjit::JitRuntime(&p);
  }();
  return *r;
}

void note_for_perf(const void* at, size_t size, const std::string& name) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static std::FILE* const file = std::fopen(("/tmp/perf-" + std::to_string(getpid()) + ".map").c_str(), "w");
  if (!file) return;
  std::fprintf(file, "%lx %zx lazy::%s\n", reinterpret_cast<unsigned long>(at), size,
               name.empty() ? "kernel" : name.c_str());
  std::fflush(file);
}

}  // namespace

Code publish(KernelWriter& writer, const std::string& name) {
  Code code;
  code.size_ = writer.code().codeSize();
  if (const asmjit::Error e = runtime().add(&code.entry_, &writer.code()); e != asmjit::kErrorOk)
    throw CompileError(std::string("executable memory: ") + asmjit::DebugUtils::errorAsString(e));
  if (config::get().perf_map) note_for_perf(reinterpret_cast<const void*>(code.entry_), code.size_, name);
  return code;
}

Code::~Code() {
  if (entry_) runtime().release(entry_);
}

}  // namespace lazy::cpu
