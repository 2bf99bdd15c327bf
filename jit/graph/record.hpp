// Records ops for lazy/ (what users call) in the graph. lazy/ checks arguments, promotes dtypes and infers
// shapes, so that errors are thrown at the user's line; these functions rely on that.
#pragma once
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "jit/graph/attributes.hpp"
#include "jit/graph/cause.hpp"
#include "jit/graph/node.hpp"

namespace lazy::jit {

/// Labels the ops that the thread records in a scope, for reports: "conv2d: weights to channels last". The
/// text is a literal; it is part of no key.
class Purpose {
 public:
  explicit Purpose(const char* what) noexcept : outer_(std::exchange(current_, what)) {}
  Purpose(const Purpose&) = delete;
  ~Purpose() { current_ = outer_; }
  static const char* current() noexcept { return current_; }

 private:
  const char* outer_;
  static thread_local constinit const char* current_;
};

/// Records one op. `operands` have the dtypes that the op's row demands; pointwise operands broadcast to
/// `shape`. A view of a ready value is resolved at once (no node is pending). Under LAZY_EAGER the op runs
/// before this returns. Bit i of `given`: the caller's handle of operand i, no const object, may be taken: it
/// is then empty, and what runs meanwhile does not store the value for it.
Handle record(Op, std::initializer_list<const Handle*> operands, DType, const Shape&, const Site&,
              const Attributes& = {}, unsigned given = 0);
/// Records a call (jit/calls/call.hpp) and returns its outputs, in order. Throws what infer() throws, at the
/// line. The flush expands an intention that its device has no kernel for.
std::vector<Handle> record_call(const CallSpec&, std::span<const Handle* const> operands, const Site&);
/// Records likewise the ops that an intention is expanded to, in its place. Only for a call that has an
/// expansion.
std::vector<Handle> record_expanded(const CallSpec&, std::span<const Handle* const> operands, const Site&);
/// True while the thread records what a flush replaces nodes by (RecordingApart).
bool records_apart() noexcept;
/// Says in a scope that what the thread records is part of what was announced as a whole: the ops of an
/// intention's expansion.
class WithinExpansion {
 public:
  WithinExpansion() noexcept : outer_(std::exchange(on_, true)) {}
  WithinExpansion(const WithinExpansion&) = delete;
  ~WithinExpansion() { on_ = outer_; }
  static bool on() noexcept { return on_; }

 private:
  const bool outer_;
  static thread_local constinit bool on_;
};
/// Runs the effects that the calling thread has recorded and no flush has run yet. A thread, or the process,
/// that ends without running them warns of them.
void run_effects(const Site&);
/// Returns a tensor whose every element is `value`: an argument of the programs that use it, never part of
/// their key. Counts as on the default device, or the given one; but a source is on the device of any other
/// operand.
Handle constant(Scalar value, DType, const Shape&, const Site&);
Handle constant(Scalar value, DType, const Shape&, Device, const Site&);
/// Returns zeros that slice updates, recorded next, overwrite before anything reads them: all of them. So no
/// kernel needs to write the zeros first.
Handle overwritten(DType, const Shape&, Device, const Site&);
/// Returns the index along `axis` (int64), broadcast over `shape`.
Handle iota(int axis, const Shape&, const Site&);
/// Copies `bytes` from host memory to the device and returns the value.
Handle from_bytes(const void* bytes, DType, const Shape&, Device, const Site&);
/// Returns a node that has no value and never gets one: using it throws. What is attached to it says what it
/// stands for.
Handle without_value(DType, const Shape&, Device, const Site&);
/// Returns the value whose bytes `read(to, offset, count)` gives, called for one piece after the other.
Handle from_pieces(const std::function<void(char*, uint64_t, uint64_t)>& read, DType, const Shape&, Device,
                   const Site&);
/// Returns a value in the user's memory; strides in elements (empty: contiguous; may be 0 or negative).
/// `deleter` runs once, when nothing refers to the memory any more; not if this throws. `data` points at the
/// element of index 0. On a device other than the CPU the value is a copy.
Handle from_blob(void* data, DType, const Shape&, const Dims& strides, std::function<void(void*)> deleter,
                 Device, const Site&);
/// Returns a value in the user's memory on a device, likewise; `deleter` runs when what was launched there is
/// done.
Handle from_device_blob(void* data, DType, const Shape&, const Dims& strides,
                        std::function<void(void*)> deleter, Device, const Site&);

/// Computes the values of these nodes, with all of the pending components that they are in. Throws what the
/// run threw; the nodes are then pending again.
void evaluate(std::span<const Handle* const>, Cause, const Site&);
/// Returns the value on another device (or itself, if it is there): evaluates, and copies without waiting for
/// it, except to the host. DeviceError if there is no such device.
Handle transfer(const Handle&, Device, const Site&);
/// Evaluates and makes row-major, on the host. Returns the pointer to `numel` elements, valid while `keep`
/// (set to the buffer) lives.
const void* contiguous_data(const Handle&, Cause, const Site&, BufferRef& keep);

}  // namespace lazy::jit
