#include "backends/cpu/code_memory.hpp"

#include "backends/cpu/debug/code_info.hpp"
#include "backends/cpu/debug/perf.hpp"
#include "backends/cpu/debug/unwind.hpp"
#include "backends/cpu/emitter/kernel_writer.hpp"
#include "backends/cpu/memory/code_pages.hpp"
#include "support/error.hpp"

namespace lazy::cpu_backend {
namespace {

void require(asmjit::Error e) {
  if (e != asmjit::kErrorOk)
    throw CompileError(std::string("machine code: ") + asmjit::DebugUtils::errorAsString(e));
}

/// Returns the written code as bytes that may lie at any address.
std::string assembled(asmjit::CodeHolder& code) {
  require(code.flatten());
  require(code.resolveUnresolvedLinks());
  require(code.relocateToBase(0));
  std::string bytes(code.codeSize(), '\0');
  require(code.copyFlattenedData(bytes.data(), bytes.size(), asmjit::CopySectionFlags::kPadSectionBuffer));
  return bytes;
}

}  // namespace

Code publish(KernelWriter& writer, const std::string& name, const std::string& at) {
  return publish(assembled(writer.code()), name, at);
}

Code publish(std::string_view bytes, const std::string& name, const std::string& at) {
  Code code;
  code.size_ = bytes.size();
  const std::string unwinding = unwinding_behind({bytes.data(), bytes.size(), {}, {}, 0});
  std::string with_it;
  if (!unwinding.empty()) {
    with_it = std::string(bytes);
    with_it.resize(unwinding_place(bytes.size()));
    bytes = with_it += unwinding;
  }
  code.room_ = bytes.size();
  code.entry_ = reinterpret_cast<Code::Entry>(const_cast<char*>(add_code(bytes)));
  announce(code_info(reinterpret_cast<const void*>(code.entry_), code.size_, name, at));
  return code;
}

Code::~Code() {
  if (!entry_) return;
  withdraw(reinterpret_cast<const void*>(entry_));
  remove_code(reinterpret_cast<const char*>(entry_), room_);
}

}  // namespace lazy::cpu_backend
