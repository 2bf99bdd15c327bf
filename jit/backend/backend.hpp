// Declares the interface through which jit/ uses a device. jit/ includes no backend's header:
// lazy/runtime.cpp makes the backends, jit/backend/registry.hpp holds them.
#pragma once
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/core/device.hpp"
#include "jit/ir/ir.hpp"
#include "jit/ir/rows.hpp"
#include "support/lines.hpp"

namespace lazy::jit {

class Backend;
class CallKernel;
class Carrier;
class CallSpec;

class Kernel;

/// Says that an operand of a launch was not made: it is what `copy`, a kernel that only copies, would write
/// if it were launched with `args`. The launch reads it where the copy would.
struct FoldedCopy {
  int operand = 0;
  const Kernel* copy = nullptr;
  const uint64_t* args = nullptr;
};

/// Holds how a kernel reads such an operand. Made and understood by the kernel's backend.
struct FoldedOperand {
  explicit FoldedOperand(int o) : operand(o) {}
  virtual ~FoldedOperand() = default;
  const int operand;
};

/// Runs compiled code. Immutable; launched from any thread.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Runs the complete box described by `args` (layout: loop::ArgLayout; word kContext: Executor::context()).
  /// On the CPU it returns when its stores are visible to the caller, elsewhere perhaps before it has begun:
  /// what is done on that device later sees its stores. May use several threads. Extents may be 0. `args` may
  /// be modified during the call.
  virtual void launch(uint64_t* args) const = 0;
  /// Runs the box on the calling thread alone, in a task of Executor::for_each: other threads see its stores
  /// when that returns. Changes no words of `args` but 0 to 2.
  virtual void launch_here(uint64_t* args) const { launch(args); }
  /// Returns how a launch with `args` reads an operand so; null if it can't. The operand's pointer says where
  /// it would lie.
  virtual std::unique_ptr<FoldedOperand> fold(const uint64_t* /*args*/, const FoldedCopy&) const {
    return {};
  }
  /// Does what launch() does, or launch_here() if `here`, with operands that fold() has returned for it.
  virtual void launch_folded(uint64_t* args, std::span<const std::unique_ptr<FoldedOperand>>,
                             bool here) const {
    here ? launch_here(args) : launch(args);
  }
  // A kernel may bring one operand into another order before it computes, as a product packs its right side.
  // That depends on the operand's elements and on nothing else of a launch but what packing() says, so the
  // caller may keep it for launches of any kernel; word ArgLayout::kPacked then says where it is.
  /// Returns which operand that is, -1 for none.
  virtual int packs() const { return -1; }
  /// Returns the bytes that a launch with `args` would pack; 0 if it reads the operand as it lies. Appends
  /// what the packed form depends on besides the operand's address.
  virtual size_t packing(const uint64_t* /*args*/, std::vector<uint64_t>& /*form*/) const { return 0; }
  /// Packs the operand. May use several threads.
  virtual void pack(const uint64_t* /*args*/, void* /*to*/) const {}
  /// Returns true if this kernel, which runs fused rows, can run rows of the lengths in `args`. If it cannot,
  /// the caller launches the members one by one. Other kernels always return true.
  virtual bool takes(const uint64_t* /*args*/) const { return true; }
  /// Prepares launches of parts of the box `args` by launch_here, with copies of these words: sets word 3, by
  /// which results that nothing reads soon may bypass the caches.
  virtual void plan_parts(uint64_t* /*args*/) const {}
  /// Returns a rough time of one index of the box on one thread, in nanoseconds.
  virtual double nanoseconds() const { return 1; }
  /// Adds what a launch of a small box reads first of the kernel.
  virtual void add_lines(Lines&) const {}
  /// Returns the bytes of generated code, 0 if none was generated.
  virtual size_t code_bytes() const { return 0; }
  /// Return the schedule (vector width, unrolling, tile, parallel axis) and the disassembly as text, for
  /// dumps.
  virtual std::string schedule() const { return {}; }
  virtual std::string disassembly() const { return {}; }
  /// Returns the ending of the name of a file that holds disassembly().
  virtual const char* listing() const { return "asm.txt"; }
  /// Returns the bytes from which Compiler::load makes the kernel again; empty if it cannot.
  virtual std::string stored() const { return {}; }
};

/// Describes a device as far as is needed to cut a tile group's work into blocks
/// (jit/plan/tiling/tile_group.hpp).
struct Workers {
  int threads = 1;                       // threads that take blocks; a device has none
  size_t near_bytes = size_t{32} << 10;  // bytes of one thread's first-level cache; a device's are 0
  // bytes of one thread's second-level cache; of a device, of the values between two steps of one block
  size_t far_bytes = size_t{1} << 20;
  bool all_on_each_block = false;  // true: a device, all of which works on each block
  int processors = 0;              // of the host that the process may use; 0: threads are no matter
};

/// Says how arguments of a launch differ from those of the same launch in an earlier run.
struct Change {
  uint64_t address_bits = 0;  // bits in which any address differs from what it was
  bool scalars = false;       // true if any scalar differs
  explicit operator bool() const { return address_bits != 0 || scalars; }
};

/// Holds a captured run's launches for the next run of the program whose arguments differ from these in
/// addresses and scalars only. Owned by the program's Arguments.
class LaunchGraph {
 public:
  virtual ~LaunchGraph() = default;
};

/// Captures a run whose launches a backend may delay. If it is destroyed before finish(), launches that were
/// delayed never happen.
class LaunchCapture {
 public:
  virtual ~LaunchCapture() = default;
  /// Does what Kernel::launch would do with a copy of the `count` words. It may repeat what that did in the
  /// run before, whose words differ from these as `change` says.
  virtual void launch(const Kernel&, const uint64_t* words, size_t count, const Change& change) = 0;
  /// Returns when all launches are under way. Throws what a launch throws.
  virtual void finish() = 0;
};

/// Says which of several ways to compute the same a backend runs best. The expansions of intentions go by it
/// (jit/calls/call.hpp).
struct Preferences {
  /// Rows of windows are put together until a product's rows have a multiple of so many columns; 0: they are
  /// left as they are.
  int row_multiple = 0;
  bool reads_windows = false;  // products read the windows of an image where they lie, without a copy
  bool fuses_softmax = false;  // a softmax between two products becomes one kernel with them
};

/// Allocates and copies a device's memory.
class Memory {
 public:
  virtual ~Memory() = default;
  /// Returns `bytes` of uninitialised memory aligned to 64, never null (a size of 0 gives a valid pointer).
  virtual void* allocate(size_t bytes) = 0;
  virtual void deallocate(void*, size_t bytes) noexcept = 0;
  /// Releases memory that no value is in and that is cached for later ones. Returns how many bytes.
  virtual size_t release_memory() { return 0; }
  // Copies between a device's memory and the host's (write, read) or within it (copy), in the order of its
  // launches. `read` returns when the bytes are there. The others may return before anything happened; the
  // caller may change host memory at once.
  virtual void write(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
  virtual void read(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
  virtual void copy(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
  /// Copies from memory of `source`, another device of this kind.
  virtual void copy_from(Backend& /*source*/, void* to, const void* from, size_t bytes) {
    copy(to, from, bytes);
  }
};

/// Makes kernels for a kind of device.
class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Returns the number of the kind of code that it makes, which is part of keys: backends with the same
  /// number share programs. kHostCode is the CPU's; below 2^16.
  virtual uint32_t code_class() const { return kHostCode; }
  /// Builds a kernel. Throws CompileError if it cannot.
  virtual std::unique_ptr<Kernel> compile(const loop::LoopKernel&) = 0;
  /// True if tile groups of kernels along the same rows are to be compiled as one kernel (compile_rows).
  virtual bool fuses_rows() const { return false; }
  /// Do what compile() and load() do, for kernels that go along the same rows. Null if it has no such kernel.
  virtual std::unique_ptr<Kernel> compile_rows(const loop::FusedRows&) { return nullptr; }
  virtual std::unique_ptr<Kernel> load_rows(const loop::FusedRows&, std::string_view /*stored*/) {
    return nullptr;
  }
  /// Returns what runs the call (jit/calls/call.hpp) on this backend's memory; null if it has nothing better
  /// than the call's default implementation, or nothing at all.
  virtual std::unique_ptr<CallKernel> make_call(const CallSpec&);
  /// Names what its code relies on of the machine and of the backend's settings: kernels are stored on disk
  /// for this target. Empty: none are stored.
  virtual std::string target() const { return {}; }
  /// Makes a kernel again from what its stored() gave in any process with the same target and build of the
  /// library. Returns null if the bytes make no sense. Throws CompileError when there is no memory for the
  /// code.
  virtual std::unique_ptr<Kernel> load(const loop::LoopKernel&, std::string_view /*stored*/) {
    return nullptr;
  }
  /// True if compiling a kernel takes milliseconds, so that those of one program are compiled side by side
  /// (Executor::for_each).
  virtual bool compiles_slowly() const { return false; }
};

/// Runs kernels, and tasks of the host's.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Returns word loop::ArgLayout::kContext of its launches.
  virtual uint64_t context() const { return 0; }
  /// Returns when all that was launched is done. Throws DeviceError for what went wrong meanwhile.
  virtual void synchronize() {}
  /// Starts to capture the steps of a program (Program::number) that the calling thread runs from now on,
  /// until the result is destroyed. `kept` is the graph that the run before left, null if the arguments are
  /// new. May return null: then launches are not delayed.
  virtual std::unique_ptr<LaunchCapture> begin_capture(uint64_t /*program*/,
                                                       std::unique_ptr<LaunchGraph>& /*kept*/) {
    return nullptr;
  }
  virtual Workers workers() const { return {}; }
  /// Returns the nanoseconds that a launch in so many parts takes at least on this machine, for the bytes
  /// that it touches and its arithmetic; 0: not known. For reports.
  virtual double least_ns(double /*bytes*/, double /*flops*/, uint32_t /*parts*/) const { return 0; }
  /// Calls task(0) ... task(pieces - 1), on several threads where there are some, and returns when all are
  /// done. Throws what a task throws.
  virtual void for_each(int64_t pieces, const std::function<void(int64_t)>& task) {
    for (int64_t p = 0; p < pieces; ++p) task(p);
  }
};

/// Does all that jit/ requires of a device: has its memory, makes kernels, runs them.
class Backend : public Memory, public Executor, public Compiler {
 public:
  virtual const char* name() const = 0;
  virtual Device device() const { return {}; }
  /// True if its memory is the host's.
  bool host() const { return device().kind == DeviceKind::cpu; }
  /// Invariant: backends whose bits are to be compared prefer the same, whatever the machine.
  virtual Preferences preferences() const {
    return host() ? Preferences{.row_multiple = 16, .reads_windows = true}
                  : Preferences{.fuses_softmax = fuses_rows()};
  }
  /// Returns a new carrier between this device and those of other processes (carrier.hpp); null if there is
  /// none for this kind of device. Throws DeviceError where a library that it needs is missing.
  virtual std::unique_ptr<Carrier> make_carrier();
  /// Returns a line for people: model, size.
  virtual std::string describe() const { return name(); }
};

}  // namespace lazy::jit
