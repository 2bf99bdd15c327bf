// Puts ops into the graph for the functions of lazy/: check, promote, broadcast, fold, record. Internal to
// lazy/.
#pragma once
#include <initializer_list>
#include <string>

#include "lazy/core/counts.hpp"
#include "lazy/core/policy.hpp"
#include "lazy/core/record.hpp"
#include "lazy/core/spelled.hpp"
#include "lazy/core/tensor.hpp"
#include "support/error.hpp"

namespace lazy::detail {

template <class E>
[[noreturn]] void fail(const char* op, const std::string& what, const Site& s) {
  throw E(std::string(as_typed(op)) + ": " + what, s);
}

/// Returns a number of C++ as it is written.
std::string text(const ScalarNumber&);

/// Throws Error: the Tensor is default-constructed.
[[noreturn]] void throw_empty(const char* op, const Site&);

/// Holds the value of an argument: the one way from what users give to what is recorded. A scalar is a 0-d
/// constant. The value of a temporary is moved from the parameter to the Operand and lives no longer than
/// that: a parameter would live until the caller's statement ends, and a value that has a handle then is
/// stored. A variable is only referred to, for one expression. Throws Error if the Tensor is
/// default-constructed.
class Operand {
 public:
  /// Takes the argument in its own dtype.
  Operand(const char* op, Arg& a) : use_(a.variable()) {
    if (!a.handle()) own(missing(op, a));
    else if (PolicyScope::current()) [[unlikely]] own(by_policy(op, a));
    else if (!use_) own(a.take());
  }
  /// Takes the argument in dtype `t`, which a scalar must fit (DtypeError). Inlined at -O2 too: each op does
  /// this for each operand.
  [[gnu::always_inline]] Operand(const char* op, Arg& a, DType t) : use_(a.variable()) {
    if (!a.handle()) own(missing(op, a, t));
    else if (a.handle()->dtype != t) own(converted(a, t));
    else if (!use_) own(a.take());
  }
  /// Leaves the argument unchanged, for functions that read it again, such as those that take lists.
  Operand(const char* op, const Arg& a) : use_(a.variable()) {
    if (!a.handle()) own(missing(op, a));
    else if (PolicyScope::current()) [[unlikely]] own(by_policy(op, a));
    else if (!use_) own(a.handle());
  }
  Operand(const char* op, const Arg& a, DType t) : use_(&owned_) {
    owned_ = a.handle() ? converted(a, t) : missing(op, a, t);
  }
  Operand(const Operand&) = delete;
  operator const Handle&() const { return *use_; }
  /// Returns 1 if the Operand has a handle of its own, which what records it last may take (jit::record).
  unsigned given() const { return use_ == &owned_; }
  jit::Node* operator->() const { return use_->get(); }
  /// Returns the handle, for callers that need to own it.
  Handle take() && { return use_ == &owned_ ? std::move(owned_) : *use_; }

 private:
  void own(Handle h) { owned_ = std::move(h), use_ = &owned_; }
  static Handle by_policy(const char* op, const Arg&);
  static Handle missing(const char* op, const Arg&);
  static Handle missing(const char* op, const Arg&, DType);
  static Handle converted(Arg&, DType);
  static Handle converted(const Arg&, DType);

  const Handle* use_;
  Handle owned_;
};

/// Returns the shape of the operand and leaves the argument unchanged.
Shape shape_of(const char* op, const Arg&);

/// Throws DtypeError if the scalar is an integer out of the range of `t`.
void check_fits(const char* op, const Arg& scalar, DType t);
/// Returns the dtype to which two dtypes promote; DtypeError if they have none in common.
DType promote(const char* op, DType, DType, const Site&);
/// Returns the dtype that the operands promote to, whatever a policy says. Checks that integer scalars fit.
DType promoted_type(const char* op, std::span<const Arg* const>);
/// Returns the dtype in which a function that is no contraction takes its operands: that which they promote
/// to, or what a policy says (policy.hpp).
DType common_type(const char* op, std::span<const Arg* const>);
inline DType common_type(const char* op, std::initializer_list<const Arg*> args) {
  return common_type(op, std::span(args.begin(), args.size()));
}
/// Returns `t` if it is a floating-point or complex dtype, else the default dtype.
DType float_type(DType);
/// Throws DeviceError if two values of the operands are on different devices (constants are anywhere).
void check_devices(const char* op, std::initializer_list<const Handle*>, const Site&);
/// Throws ShapeError if an extent is negative.
void check_extents(const char* op, const Shape&, const Site&);
/// Returns the shape to which both broadcast; throws ShapeError naming both.
Shape broadcast_shapes(const char* op, const Shape&, const Shape&, const Site&);

// Functions that record. Operands are already checked and promoted; constants are folded.

/// DtypeError for a complex operand and a real dtype other than bool: that is for astype alone.
Handle cast(const Handle&, DType, const Site&);
// `given`: as for jit::record.

/// Records an op whose result has the operand's dtype, or bool where the op's row is `logical`. `name` is the
/// function's for errors; null: the op's.
Handle unary(Op, const Handle&, const Site&, unsigned given = 0, const char* name = nullptr);
/// Records an op and broadcasts its operands; `name` is the user's op for the ShapeError.
Handle binary(const char* name, Op, const Handle&, const Handle&, const Site&, unsigned given = 0);
Handle where(const char* name, const Handle& condition, const Handle&, const Handle&, const Site&);
/// Multiplies (..., m, k) by (..., k, n), both of one dtype other than bool; the leading axes broadcast
/// (ShapeError).
Handle matmul(const char* name, const Handle&, const Handle&, const Site&);
/// Records a * b + c, rounded once; floating point only. Broadcasts.
Handle fma(const char* name, const Handle& a, const Handle& b, const Handle& c, const Site&);
/// Reduces along the axes (none: all) in the operand's dtype; any and all take bool, and max and min of bool
/// become these. ShapeError for max, min, argmax or argmin of no elements; IndexError as for normal_axes().
Handle reduce(const char* name, Op, const Handle&, const Dims& axes, KeepDims, const Site&);
Handle constant(const ScalarNumber&, DType, const Shape&, const Site&);
/// Records a constant on the device of `like`.
Handle constant(const ScalarNumber&, DType, const Shape&, const Handle& like, const Site&);
/// Records values from host memory on the device of `like`.
Handle values(const void* bytes, DType, const Shape&, const Handle& like, const Site&);
/// Replaces the region of `base` that begins at `start`, with the given steps, by `update`; both have one
/// dtype.
Handle slice_update(const char* name, const Handle& base, const Handle& update, const Dims& start,
                    const Dims& step, const Site&);
/// Replaces a region of `base` where it has no value yet: no other piece put into the same overwritten()
/// value lies there. So the gradient of the base is that of the result as it is, and each piece's is a part
/// of one value.
Handle put_piece(const char* name, const Handle& base, const Handle& piece, const Dims& start, const Site&);

// Views. One that changes nothing returns its operand.

/// Reshapes. The first `leading_kept` dimensions stay what they are, whatever the extents.
Handle reshape(const Handle&, const Shape&, const Site&, int leading_kept = 0);
Handle permute(const Handle&, const Dims& axes, const Site&);
/// Returns a value of its own that is the same, and lies where the other does: a view, which takes no memory.
Handle alias_of(const Handle&, const Site&);
/// Returns a function's value as the user's. Where it is the very variable that was given, and gradients go
/// through that, it is a value of its own: marks, hooks and a no_grad tell the two apart.
inline Tensor returned(Handle h, const Arg& given) {
  if (h->attachment && given.variable() && given.variable()->get() == h.get()) [[unlikely]]
    return Tensor(alias_of(h, given.site()));
  return Tensor(std::move(h));
}
/// Exchanges the last two axes.
Handle matrix_transpose(const Handle&, const Site&);
Handle broadcast(const Handle&, const Shape&, const Site&);
Handle slice(const Handle&, const Dims& start, const Dims& step, const Shape&, const Site&);
/// Records Op::window; see ops.def. `shape` is the result's.
Handle window(const Handle&, const Dims& axes, const Dims& step, const Dims& dilation, const Shape& shape,
              const Site&);

/// Returns the axis in [0, rank); throws IndexError if it is out of range.
int normal_axis(const char* op, int64_t axis, int rank, const Site&);
/// Returns the distinct axes in [0, rank), ascending; none given means all.
Dims normal_axes(const char* op, const Dims& axes, int rank, const Site&);

/// True if a value of `from` may be stored in `to` implicitly: same kind or a lower one, never signed to
/// unsigned.
bool same_kind(DType from, DType to);
/// Converts the operand to `to`, for a store into a tensor that keeps its dtype; DtypeError if that would
/// change its kind.
Handle stored_as(const char* op, const Arg&, DType to);

}  // namespace lazy::detail
