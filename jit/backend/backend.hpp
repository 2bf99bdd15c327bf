// What jit/ asks of a device. Backends register themselves (jit/backend/registry.hpp); jit/ never names one.
#pragma once
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "jit/core/device.hpp"
#include "jit/ir/ir.hpp"
#include "jit/ir/rows.hpp"

namespace lazy::jit {

/// A compiled kernel. Immutable; launched from any thread.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Runs the whole box described by `args` (layout: loop::ArgLayout; word kContext: Backend::context()). On
  /// the CPU it returns when its stores are visible to the caller, elsewhere perhaps before it has begun:
  /// what is done on that device later sees its stores. May use several threads. Extents may be 0. `args` may
  /// be modified during the call.
  virtual void launch(uint64_t* args) const = 0;
  /// The same on the calling thread alone, in a task of Backend::for_each: other threads see its stores when
  /// that returns. Of `args` only words 0 to 2 are changed.
  virtual void launch_here(uint64_t* args) const { launch(args); }
  /// Of one that runs rows: whether it can, for rows as long as these arguments say. If not, the members are
  /// launched.
  virtual bool takes(const uint64_t* /*args*/) const { return true; }
  /// Before launch_here on parts of the box `args`, with copies of these: nothing will read the results
  /// soon. Sets word 3.
  virtual void plan_parts(uint64_t* /*args*/) const {}
  /// A rough time of one index of the box, on one thread.
  virtual double nanoseconds() const { return 1; }
  /// Bytes of generated code, 0 if none was generated.
  virtual size_t code_bytes() const { return 0; }
  /// Human-readable schedule (vector width, unroll, tile, parallel axis) and disassembly, for dumps.
  virtual std::string schedule() const { return {}; }
  virtual std::string disassembly() const { return {}; }
  /// What a file of it ends with.
  virtual const char* listing() const { return "asm.txt"; }
  /// What Backend::load makes the kernel from again; empty if it can't.
  virtual std::string stored() const { return {}; }
};

/// What the executor needs to know to cut a tile group's work into blocks (jit/plan/tiling/tile_group.hpp).
struct Workers {
  int threads = 1;  // 0: a device, all of which works on each block, of some far_bytes of values in between
  size_t near_bytes = size_t{32} << 10;  // first- and second-level cache of one thread
  size_t far_bytes = size_t{1} << 20;
};

/// How arguments of a launch differ from those of the same launch in an earlier run.
struct Change {
  uint64_t address_bits = 0;  // bits in which an address differs from what it was
  bool scalars = false;
  explicit operator bool() const { return address_bits != 0 || scalars; }
};

/// What a backend keeps of a held run's launches, for the next run of the program with arguments that differ
/// from these in addresses and scalars only.
class LaunchGraph {
 public:
  virtual ~LaunchGraph() = default;
};

/// A run whose launches a backend may hold back. Destroyed unfinished, what was held back never happens.
class LaunchCapture {
 public:
  virtual ~LaunchCapture() = default;
  /// Kernel::launch with a copy of the `count` words, or what it did in the run before, which was given
  /// words that differ as `change` says.
  virtual void launch(const Kernel&, const uint64_t* words, size_t count, const Change& change) = 0;
  /// Returns when all of them are under way. Throws what a launch throws.
  virtual void finish() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  virtual Device device() const { return {}; }
  /// Its memory is the host's.
  bool host() const { return device().kind == DeviceKind::cpu; }
  /// A line for people: model, size.
  virtual std::string describe() const { return name(); }
  /// The code that it makes, as part of keys: programs of backends with the same number serve each other. 0:
  /// the CPU. Below 2^16.
  virtual uint32_t code_class() const { return 0; }
  /// Word loop::ArgLayout::kContext of its launches.
  virtual uint64_t context() const { return 0; }
  /// Throws CompileError if the kernel cannot be built.
  virtual std::unique_ptr<Kernel> compile(const loop::LoopKernel&) = 0;
  /// Whether tile groups of kernels along the same rows are compiled as one (compile_rows).
  virtual bool fuses_rows() const { return false; }
  /// As compile() and load(), of kernels that go along the same rows.
  virtual std::unique_ptr<Kernel> compile_rows(const loop::FusedRows&) { return nullptr; }
  virtual std::unique_ptr<Kernel> load_rows(const loop::FusedRows&, std::string_view /*stored*/) {
    return nullptr;
  }
  /// What of the machine and of the backend's settings its code relies on: kernels are kept on disk for this
  /// target. Empty: none are kept.
  virtual std::string target() const { return {}; }
  /// A kernel again from what its stored() gave, in any process, for the same target and build of the
  /// library. Null if the bytes make no sense. Throws CompileError when there is no memory for the code.
  virtual std::unique_ptr<Kernel> load(const loop::LoopKernel&, std::string_view /*stored*/) {
    return nullptr;
  }
  /// `bytes` of uninitialised memory aligned to 64, never null (a size of 0 gives a valid pointer).
  virtual void* allocate(size_t bytes) = 0;
  virtual void deallocate(void*, size_t bytes) noexcept = 0;
  /// Gives memory that no value is in, and that is kept for later ones, back. Returns how many bytes.
  virtual size_t release_memory() { return 0; }
  // Memory of a device that is not the host. All in the order of its launches; `read` returns when the bytes
  // are there, the others may return before anything happened, but host memory is free for the caller to
  // change.
  virtual void write(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
  virtual void read(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
  virtual void copy(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
  /// From memory of `source`, another device of this kind.
  virtual void copy_from(Backend& /*source*/, void* to, const void* from, size_t bytes) {
    copy(to, from, bytes);
  }
  /// Returns when all that was launched is done. Throws DeviceError for what went wrong meanwhile.
  virtual void synchronize() {}
  /// The calling thread runs the steps of a program, by its number (Program::number), until the result dies.
  /// `kept`: null where the arguments are new. Null: as if it was not said.
  virtual std::unique_ptr<LaunchCapture> begin_capture(uint64_t /*program*/,
                                                       std::unique_ptr<LaunchGraph>& /*kept*/) {
    return nullptr;
  }
  /// Compiling a kernel takes milliseconds: those of one program are compiled side by side (for_each).
  virtual bool compiles_slowly() const { return false; }
  virtual Workers workers() const { return {}; }
  /// task(0) ... task(pieces - 1), on several threads where there are some; returns when all are done. Throws
  /// what a task throws.
  virtual void for_each(int64_t pieces, const std::function<void(int64_t)>& task) {
    for (int64_t p = 0; p < pieces; ++p) task(p);
  }
};

}  // namespace lazy::jit
