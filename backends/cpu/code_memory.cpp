#include "backends/cpu/code_memory.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
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

void note(const void* at, size_t size, const std::string& name) {
  if (config::get().perf_map) note_for_perf(at, size, name);
}

void require(asmjit::Error e) {
  if (e != asmjit::kErrorOk)
    throw CompileError(std::string("executable memory: ") + asmjit::DebugUtils::errorAsString(e));
}

}  // namespace

Code publish(KernelWriter& writer, const std::string& name) {
  Code code;
  require(runtime().add(&code.entry_, &writer.code()));
  code.size_ = writer.code().codeSize();
  note(reinterpret_cast<const void*>(code.entry_), code.size_, name);
  return code;
}

Code publish(std::string_view bytes, const std::string& name) {
  void *executable = nullptr, *writable = nullptr;
  require(runtime().allocator()->alloc(&executable, &writable, bytes.size()));
  Code code;
  code.entry_ = reinterpret_cast<Code::Entry>(executable);
  code.size_ = bytes.size();
  std::memcpy(writable, bytes.data(), bytes.size());
  note(executable, bytes.size(), name);
  return code;
}

Code::~Code() {
  if (entry_) runtime().release(entry_);
}

}  // namespace lazy::cpu
