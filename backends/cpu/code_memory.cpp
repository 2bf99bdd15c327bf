#include "backends/cpu/code_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "backends/cpu/code_info.hpp"
#include "backends/cpu/emitter/kernel_writer.hpp"
#include "support/config.hpp"
#include "support/error.hpp"

namespace lazy::cpu_backend {
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

void require(asmjit::Error e) {
  if (e != asmjit::kErrorOk)
    throw CompileError(std::string("executable memory: ") + asmjit::DebugUtils::errorAsString(e));
}

}  // namespace

namespace {

/// Pages that are mapped twice are shared and have a name: perf doesn't look for what lies there in its maps,
/// and debuggers can't set breakpoints.
bool wants_anonymous_memory() {
  return config::get().gdb || config::get().perf_map.get() == config::PerfMap::map;
}

size_t whole_pages(size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

/// Written first, executable then.
void* anonymous_copy(std::string_view bytes) {
  const size_t size = whole_pages(bytes.size());
  void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw CompileError("executable memory: out of memory");
  std::memcpy(at, bytes.data(), bytes.size());
  if (::mprotect(at, size, PROT_READ | PROT_EXEC) != 0) {
    ::munmap(at, size);
    throw CompileError("executable memory: the system does not allow it");
  }
  return at;
}

}  // namespace

Code publish(KernelWriter& writer, const std::string& name, const std::string& at) {
  Code code;
  require(runtime().add(&code.entry_, &writer.code()));
  code.size_ = writer.code().codeSize();
  if (wants_anonymous_memory()) {  // code is position independent
    Code copy;
    copy.entry_ = reinterpret_cast<Code::Entry>(anonymous_copy(code.bytes()));
    copy.size_ = code.size_;
    copy.anonymous_ = true;
    std::swap(code, copy);
  }
  announce(code_info(reinterpret_cast<const void*>(code.entry_), code.size_, name, at));
  return code;
}

Code publish(std::string_view bytes, const std::string& name, const std::string& at) {
  void *executable = nullptr, *writable = nullptr;
  Code code;
  if (wants_anonymous_memory()) {
    executable = anonymous_copy(bytes);
    code.anonymous_ = true;
  } else {
    require(runtime().allocator()->alloc(&executable, &writable, bytes.size()));
  }
  code.entry_ = reinterpret_cast<Code::Entry>(executable);
  code.size_ = bytes.size();
  if (writable) std::memcpy(writable, bytes.data(), bytes.size());
  announce(code_info(executable, bytes.size(), name, at));
  return code;
}

Code::~Code() {
  if (!entry_) return;
  withdraw(reinterpret_cast<const void*>(entry_));
  if (anonymous_) ::munmap(reinterpret_cast<void*>(entry_), whole_pages(size_));
  else runtime().release(entry_);
}

}  // namespace lazy::cpu_backend
