// The door: everything that lazy/ puts into the graph goes through here, and nothing else calls the graph
// (tests/lazy/door.cmake). Who wants to know what is computed, as automatic differentiation and tracing do,
// observes it here. While nobody does, that costs one test of a thread-local pointer an op.
#pragma once
#include <initializer_list>
#include <span>
#include <vector>

#include "jit/graph/record.hpp"

namespace lazy::detail {

using jit::Handle;
using jit::Op;

/// An op and its result. Operands are as they were recorded: promoted by ops of their own, not yet
/// broadcast. Constants and iotas are ops without operands. An op of constants may have been folded: its
/// result is then a constant, and nothing was recorded. All is valid during the call that gets it.
struct Recorded {
  Op op;
  std::span<const Handle* const> operands;
  const jit::Attributes& attributes;
  const Handle& result;
  const Site& site;
};

/// A call and its outputs, in order.
struct RecordedCall {
  const jit::CallSpec& spec;
  std::span<const Handle* const> operands;
  std::span<const Handle> outputs;
  const Site& site;
};

/// Is told what a thread records, in order, each op once, after it was recorded. Ops that give back their
/// operand (a reshape to the shape that it has) are none. Operands stay the nodes that they were, but the
/// graph forgets what a value was made of once it is computed: who needs that keeps handles, and a handle
/// keeps the value. What an observer throws comes out at the user's line.
class Observer {
 public:
  virtual void recorded(const Recorded&) = 0;
  /// The same of a call (jit/calls/call.hpp): one op with all of its outputs.
  virtual void recorded_call(const RecordedCall&);
  /// `to` is the value `from` on another device.
  virtual void transferred(const Handle& from, const Handle& to, const Site&);
  /// The ops up to the matching ends() make up one function of these operands (empty: left out). They nest.
  virtual void begins(const char* name, std::span<const Handle* const> operands, const Site&);
  /// `result` is null if the function threw.
  virtual void ends(const char* name, const Handle* result) noexcept;

 protected:
  ~Observer() = default;
};

/// While one lives, the observer is told what this thread records. They nest: the innermost observer is told
/// first. What an observer records while it is told is told only to those around it.
class Observing {
 public:
  explicit Observing(Observer& o) noexcept;
  Observing(const Observing&) = delete;
  ~Observing();

  Observer& observer;
  Observing* const outer;
};
/// The innermost of this thread; null if nobody observes.
extern thread_local constinit Observing* observing;

void tell(const Recorded&);
void tell_transferred(const Handle& from, const Handle& to, const Site&);

/// Records one op, as jit::record() does.
inline Handle record(Op op, std::initializer_list<const Handle*> operands, DType t, const Shape& shape,
                     const Site& s, const jit::Attributes& attributes = {}) {
  Handle result = jit::record(op, operands, t, shape, s, attributes);
  if (observing) [[unlikely]]
    tell({op, operands, attributes, result, s});
  return result;
}

/// Returns the result of an op on constants, which is a constant.
inline Handle folded(Op op, std::initializer_list<const Handle*> operands, jit::Scalar value, DType t,
                     const Shape& shape, Device device, const Site& s,
                     const jit::Attributes& attributes = {}) {
  Handle result = jit::constant(value, t, shape, device, s);
  if (observing) [[unlikely]]
    tell({op, operands, attributes, result, s});
  return result;
}

/// Records a call; returns its outputs.
std::vector<Handle> record_call(const jit::CallSpec&, std::span<const Handle* const> operands, const Site&);

/// Makes a tensor whose every element is `value`.
inline Handle constant(jit::Scalar value, DType t, const Shape& shape, Device device, const Site& s) {
  return folded(Op::constant, {}, value, t, shape, device, s);
}

/// Makes the index along `axis`, int64, broadcast over `shape`.
Handle iota(int axis, const Shape& shape, Device, const Site&);

/// Returns the value on a device: itself if it is there, else a copy, which evaluates.
Handle transfer(const Handle&, Device, const Site&);

/// While one lives, what is recorded is one function to those who observe: a rule for the whole may serve
/// them better than one for each op. Functions are announced where such a rule is known to exist.
class Composite {
 public:
  Composite(const char* name, std::initializer_list<const Handle*> operands, const Site& s) : name_(name) {
    if (observing) [[unlikely]]
      begin(operands, s);
  }
  Composite(const Composite&) = delete;
  ~Composite() {
    if (told_) [[unlikely]]
      end(nullptr);
  }
  /// Ends it; returns the result.
  const Handle& result(const Handle& h) {
    if (told_) [[unlikely]]
      end(&h);
    return h;
  }

 private:
  void begin(std::initializer_list<const Handle*> operands, const Site&);
  void end(const Handle* result) noexcept;

  const char* name_;
  bool told_ = false;
};

}  // namespace lazy::detail
