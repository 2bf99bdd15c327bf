// Records every op of lazy/: all that it puts into the graph goes through here, and nothing else calls the
// graph (tests/lazy/door.cmake). Automatic differentiation and tracing observe here what is computed. Without
// an observer that costs one test of a word an op.
#pragma once
#include <atomic>
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "jit/graph/record.hpp"
#include "lazy/core/arg.hpp"

namespace lazy::detail {

using jit::Handle;
using jit::Op;

/// Describes an op and its result. Operands are as they were recorded: promoted by ops of their own, not yet
/// broadcast. Constants and iotas are ops without operands. An op of constants may have been folded: its
/// result is then a constant, and nothing was recorded. All of it is valid during the call that receives it.
struct Recorded {
  Op op;
  std::span<const Handle* const> operands;
  const jit::Attributes& attributes;
  const Handle& result;
  const Site& site;
};

/// Describes a call and its outputs, in order.
struct RecordedCall {
  const jit::CallSpec& spec;
  std::span<const Handle* const> operands;
  std::span<const Handle> outputs;
  const Site& site;
};

/// Describes a function (Composite) whose result has a gradient. Valid during the call that receives it.
struct Differentiated {
  std::span<const Handle> operands;  // as they were announced; empty where one was omitted
  const Handle& result;
  const Handle& gradient;  // of the result: of its shape and dtype
  uint64_t wanted;         // bit i: operand i depends on what is differentiated by
  bool again;              // what is recorded now may be differentiated in turn
  const Site& site;        // the user's line of the function

  bool wants(size_t operand) const { return (wanted >> operand & 1) != 0; }
};
/// Records the gradients of a function's operands: one for each, of its shape, empty for one that has none or
/// is not wanted. What it records is differentiated as everything is.
using Derivative = std::function<std::vector<Handle>(const Differentiated&)>;

/// Is notified of what a thread records, in order, each op once, after it was recorded; of an intention as
/// one call, not of what it is expanded to. Ops that return their operand (a reshape to the shape that it
/// has) are none. Operands remain the same nodes, but the graph forgets the recipe of a value once it is
/// computed: an observer that needs it must own handles, and a handle keeps the value. Exceptions of an
/// observer are thrown at the user's line.
class Observer {
 public:
  virtual void recorded(const Recorded&) = 0;
  /// Called for a call (jit/calls/call.hpp): one op with all of its outputs.
  virtual void recorded_call(const RecordedCall&);
  /// Called for a transfer: `to` is the value `from` on another device.
  virtual void transferred(const Handle& from, const Handle& to, const Site&);
  /// Called when a function begins: the ops up to the matching ends() belong to it. An empty operand was
  /// omitted. They nest.
  virtual void begins(const char* name, std::span<const Handle* const> operands, const Site&);
  /// Called when a function ends; `result` is null if it threw (then this must not
  /// throw), `derivative` if the derivatives of its ops are as good.
  virtual void ends(const char* name, const Handle* result, const Derivative* derivative);
  /// Called when a variable is updated: it had the value `from` and has `to` now.
  virtual void updated(const Handle& from, const Handle& to, const Site&);
  /// Called before the gradients of an op are recorded, with its first result; with null when a backward pass
  /// is over.
  virtual void derives(const Handle* result);
  /// Returns true to be told of an intention's ops in its place: it is then expanded where it is recorded.
  virtual bool wants_ops(const jit::CallSpec&, std::span<const Handle* const> /*operands*/) { return false; }

 protected:
  ~Observer() = default;
};

/// Notifies the observer of what this thread records, for a scope. They nest: the innermost observer is
/// notified first. What an observer records while it is notified goes only to the observers around it.
class Observing {
 public:
  explicit Observing(Observer& o) noexcept;
  Observing(const Observing&) = delete;
  ~Observing();

  Observer& observer;
  Observing* const outer;
};
/// Points to the thread's innermost Observing; null if nobody observes this thread.
extern thread_local constinit Observing* observing;
/// Counts the scopes with an Observing of all threads, and the reasons for which there is an observer of all.
extern constinit std::atomic<uint32_t> observers;
/// True in a scope of this thread in which the observer of all is told nothing (inference_mode), which is one
/// of those reasons. What is computed in it is marked as underived.
extern thread_local constinit bool inferring;
/// Makes it so, or not so, for a scope. They nest.
class Inferring {
 public:
  explicit Inferring(bool on) noexcept : outer_(std::exchange(inferring, on)) {}
  Inferring(const Inferring&) = delete;
  ~Inferring() { inferring = outer_; }

 private:
  const bool outer_;
};
/// True if it is, and no observer of this thread's own wants to know.
inline bool unheard() { return inferring && !observing; }
inline bool observed() { return observers.load(std::memory_order_relaxed) != 0 && !unheard(); }

/// Notifies the observer, last, of what any thread records, as long as a reason exists. There is one such
/// observer in the process, which lives for ever.
void observe_all(Observer&);
inline void add_reason() { observers.fetch_add(1, std::memory_order_relaxed); }
inline void drop_reason() { observers.fetch_sub(1, std::memory_order_relaxed); }

/// Throws Error at the line if an operand is a variable that has no value of its own (recipe.hpp): somebody
/// used it and did not read it.
void check_read(std::span<const Handle* const> operands, const Site&);

void tell(const Recorded&);
void tell_transferred(const Handle& from, const Handle& to, const Site&);
void tell_updated(const Handle& from, const Handle& to, const Site&);
void tell_derives(const Handle* result);

/// Records an op of complex values as ops of their planes (planes.hpp).
Handle record_on_planes(Op, std::span<const Handle* const> operands, DType, const Shape&, const Site&,
                        const jit::Attributes&, const char* name);

/// Records one op, as jit::record() does; of complex values, by rules. `name` is the function's for the
/// DtypeError that there is no rule; null: the op's.
inline Handle record(Op op, std::initializer_list<const Handle*> operands, DType t, const Shape& shape,
                     const Site& s, const jit::Attributes& attributes = {}, unsigned given = 0,
                     const char* name = nullptr) {
  if (is_complex(t) || is_complex((*operands.begin())->get()->dtype)) [[unlikely]]
    return record_on_planes(op, operands, t, shape, s, attributes, name);
  if (observers.load(std::memory_order_relaxed) == 0) [[likely]]
    return jit::record(op, operands, t, shape, s, attributes, given);
  if (any_recipes()) [[unlikely]]
    check_read(operands, s);
  const bool told = !unheard();  // of all operands
  Handle result = jit::record(op, operands, t, shape, s, attributes, told ? 0 : given);
  if (told) tell({op, operands, attributes, result, s});
  else result->underived = true;
  return result;
}

/// Returns the result of an op on constants, which is a constant.
inline Handle folded(Op op, std::initializer_list<const Handle*> operands, jit::Scalar value, DType t,
                     const Shape& shape, Device device, const Site& s,
                     const jit::Attributes& attributes = {}) {
  Handle result = jit::constant(value, t, shape, device, s);
  if (observers.load(std::memory_order_relaxed) == 0) [[likely]]
    return result;
  if (!unheard()) tell({op, operands, attributes, result, s});
  else result->underived = operands.size() > 0;  // a constant depends on nothing
  return result;
}

/// Records a call or an intention; returns its outputs.
std::vector<Handle> record_call(const jit::CallSpec&, std::span<const Handle* const> operands, const Site&);
/// Records the ops that an intention is expanded to, which observers are told of, in its place.
std::vector<Handle> record_expanded(const jit::CallSpec&, std::span<const Handle* const> operands,
                                    const Site&);

/// Makes a tensor whose every element is `value`.
inline Handle constant(jit::Scalar value, DType t, const Shape& shape, Device device, const Site& s) {
  return folded(Op::constant, {}, value, t, shape, device, s);
}

/// Makes what updates, recorded next, overwrite completely before anything reads it (jit/graph/record.hpp).
Handle overwritten(DType, const Shape&, Device, const Site&);

/// Records the index along `axis`, int64, broadcast over `shape`.
Handle iota(int axis, const Shape& shape, Device, const Site&);

/// Returns the value on a device: itself if it is there, else a copy, which evaluates.
Handle transfer(const Handle&, Device, const Site&);

/// Announces what is recorded in a scope to observers as one function: they may have a better rule for the
/// function than for each of its ops. Functions are announced where such a rule is known to exist.
class Composite {
 public:
  Composite(const char* name, std::initializer_list<const Handle*> operands, const Site& s) : name_(name) {
    if (observed()) [[unlikely]]
      begin(operands, s);
  }
  Composite(const Composite&) = delete;
  ~Composite() {
    if (told_) [[unlikely]]
      end(nullptr);
  }
  /// Ends the function and returns the result.
  const Handle& result(const Handle& h) {
    if (told_) [[unlikely]]
      end(&h);
    return h;
  }
  /// Ends a function that has a derivative of its own, which is taken in place of those of its ops:
  /// `derivative` is a Derivative, and owns what it needs beside the operands.
  template <class F>
  const Handle& result(const Handle& h, F&& derivative) {
    if (told_) [[unlikely]] {
      const Derivative d(std::forward<F>(derivative));
      end(&h, &d);
    }
    return h;
  }

 private:
  void begin(std::initializer_list<const Handle*> operands, const Site&);
  void end(const Handle* result, const Derivative* = nullptr);

  const char* name_;
  bool told_ = false;
};

}  // namespace lazy::detail
