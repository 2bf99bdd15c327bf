// What jit/ asks of a device. Backends register themselves (jit/registry.hpp); jit/ never names one.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "jit/loop/ir.hpp"

namespace lazy::jit {

/// A compiled kernel. Immutable; launched from any thread.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Runs the whole box described by `args` (layout: loop::ArgLayout) and returns when its stores are visible
  /// to the caller. May use several threads. Extents may be 0. `args` may be modified during the call.
  virtual void launch(uint64_t* args) const = 0;
  /// Bytes of generated code, 0 if none was generated.
  virtual size_t code_bytes() const { return 0; }
  /// Human-readable schedule (vector width, unroll, tile, parallel axis) and disassembly, for dumps.
  virtual std::string schedule() const { return {}; }
  virtual std::string disassembly() const { return {}; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  /// Throws CompileError if the kernel cannot be built.
  virtual std::unique_ptr<Kernel> compile(const loop::LoopKernel&) = 0;
  /// `bytes` of uninitialised memory aligned to 64, never null (a size of 0 gives a valid pointer).
  virtual void* allocate(size_t bytes) = 0;
  virtual void deallocate(void*, size_t bytes) noexcept = 0;
};

}  // namespace lazy::jit
