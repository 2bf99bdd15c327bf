// The door between lazy/ (what users call) and the graph. lazy/ checks arguments, promotes dtypes and infers
// shapes, so that errors are thrown at the user's line; what comes through here is right.
#pragma once
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "jit/graph/cause.hpp"
#include "jit/graph/node.hpp"

namespace lazy::jit {

struct Attributes {
  Dims ints, steps, axes;  // see Node
};

/// While one lives, ops that the thread records say in reports what they are for: "conv2d: weights to
/// channels last". A literal; part of no key.
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

/// Records one op. `operands` have the types that the op's row asks for; pointwise operands broadcast to
/// `shape`. A view of a ready value is resolved at once (no node is pending). Under LAZY_EAGER the op runs
/// before this returns.
Handle record(Op, std::initializer_list<const Handle*> operands, DType, const Shape&, const Site&,
              const Attributes& = {});
/// Records a call (jit/calls/call.hpp): its outputs, in order. Throws what its infer() throws, at the line. A
/// device that has no kernel for it gets its fallback's ops, if it has any.
std::vector<Handle> record_call(const CallSpec&, std::span<const Handle* const> operands, const Site&);
/// Runs the effects that the calling thread has recorded and no flush has run yet. A thread that ends without
/// leaves them to the next one that takes over its graph.
void run_effects(const Site&);
/// A tensor whose every element is `value`: an argument of the programs that use it, never part of their key.
/// Counts as on the default device, or on the one given; but a source is wherever another operand is.
Handle constant(Scalar value, DType, const Shape&, const Site&);
Handle constant(Scalar value, DType, const Shape&, Device, const Site&);
/// Index along `axis` (int64), broadcast over `shape`.
Handle iota(int axis, const Shape&, const Site&);
/// A value that exists: `bytes` of the host's are copied to the device.
Handle from_bytes(const void* bytes, DType, const Shape&, Device, const Site&);
/// A value in the user's memory; strides in elements (empty: contiguous; may be 0 or negative). `deleter`
/// runs once, when nothing refers to the memory any more; not if this throws. `data` points at the element of
/// index 0. A device other than the CPU gets a copy.
Handle from_blob(void* data, DType, const Shape&, const Dims& strides, std::function<void(void*)> deleter,
                 Device, const Site&);

/// Makes the values of these nodes exist, with all of the pending components that they are in. Throws what
/// the run threw; the nodes are then pending again.
void evaluate(std::span<const Handle* const>, Cause, const Site&);
/// The value on another device (or itself, if it is there): evaluates, and copies without waiting for it,
/// except to the host. DeviceError if there is no such device.
Handle transfer(const Handle&, Device, const Site&);
/// Evaluates and makes row-major, on the host: the pointer to `numel` elements, valid while `keep` (set to
/// the buffer) lives.
const void* contiguous_data(const Handle&, Cause, const Site&, BufferRef& keep);

}  // namespace lazy::jit
