// How functions of lazy/ put ops into the graph: check, promote, broadcast, fold, record. Internal to lazy/.
#pragma once
#include <initializer_list>
#include <string>

#include "jit/graph/record.hpp"
#include "lazy/core/counts.hpp"
#include "lazy/core/tensor.hpp"
#include "support/error.hpp"

namespace lazy::detail {

using jit::Handle;
using jit::Op;

template <class E>
[[noreturn]] void fail(const char* op, const std::string& what, const Site& s) {
  throw E(std::string(op) + ": " + what, s);
}

/// The operand's node; throws if the Tensor is default-constructed or the operand a scalar.
const Handle& tensor_of(const char* op, const Arg&);
/// As above, but a scalar becomes a 0-d constant of its own dtype.
Handle any_of(const char* op, const Arg&);
/// any_of() for the operand's last use: see Arg::take.
Handle take(const char* op, Arg&);

/// The dtype that two promote to; DtypeError if they have none in common.
DType promote(const char* op, DType, DType, const Site&);
/// The dtype that the operands promote to. Checks that integer scalars fit.
DType common_type(const char* op, std::initializer_list<const Arg*>);
/// bool and integers become float64.
DType float_type(DType);
/// The operand in dtype `t`; scalars are 0-d constants (which must fit: common_type has checked, or this
/// throws).
Handle operand(const char* op, const Arg&, DType t);
/// operand() for the operand's last use.
Handle take(const char* op, Arg&, DType t);

/// The operand's last use, as operand() but without a copy of the handle where a variable has the dtype
/// already. Refers to the variable: for one expression.
class Operand {
 public:
  Operand(const char* op, Arg& a, DType t) : use_(a.variable()) {
    if (!a.handle() || a.handle()->dtype != t) owned_ = take(op, a, t), use_ = &owned_;
    else if (!use_) owned_ = a.take(), use_ = &owned_;
  }
  Operand(const Operand&) = delete;
  operator const Handle&() const { return *use_; }

 private:
  const Handle* use_;
  Handle owned_;
};

/// Throws DeviceError if two values of the operands are on different devices (constants are anywhere).
void check_devices(const char* op, std::initializer_list<const Handle*>, const Site&);
/// The shape that both broadcast to; ShapeError naming both.
Shape broadcast_shapes(const char* op, const Shape&, const Shape&, const Site&);

// Recording. Operands are right already; constants are folded, and views that change nothing return their
// operand.

Handle cast(const Handle&, DType, const Site&);
/// The result has the operand's dtype, or bool where the op's row is `logical`.
Handle unary(Op, const Handle&, const Site&);
/// Broadcasts; `name` is the user's op for the ShapeError.
Handle binary(const char* name, Op, const Handle&, const Handle&, const Site&);
Handle where(const char* name, const Handle& condition, const Handle&, const Handle&, const Site&);
/// (..., m, k) x (..., k, n) of one dtype other than bool and equal k; the leading axes broadcast
/// (ShapeError).
Handle matmul(const char* name, const Handle&, const Handle&, const Site&);
Handle constant(const Number&, DType, const Shape&, const Site&);
/// Records the same where `like` is.
Handle constant(const Number&, DType, const Shape&, const Handle& like, const Site&);
/// `update` put into `base` from `start` on, `step` apart, both of one dtype.
Handle slice_update(const char* name, const Handle& base, const Handle& update, const Dims& start,
                    const Dims& step, const Site&);
/// `leading_kept`: so many leading dimensions stay what they are, whatever the extents.
Handle reshape(const Handle&, const Shape&, const Site&, int leading_kept = 0);
Handle permute(const Handle&, const Dims& axes, const Site&);
Handle broadcast(const Handle&, const Shape&, const Site&);
Handle slice(const Handle&, const Dims& start, const Dims& step, const Shape&, const Site&);
/// Op::window's view; see ops.def. `shape` is the result's.
Handle window(const Handle&, const Dims& axes, const Dims& step, const Dims& dilation, const Shape& shape,
              const Site&);

/// axis in [0, rank); IndexError otherwise.
int normal_axis(const char* op, int64_t axis, int rank, const Site&);
/// Distinct axes in [0, rank), ascending; none given means all.
Dims normal_axes(const char* op, const Dims& axes, int rank, const Site&);

/// Whether a value of `from` may be stored in `to` without asking: same kind or a lower one, never signed to
/// unsigned.
bool same_kind(DType from, DType to);
/// The operand as `to`, for a store into something that keeps its dtype; DtypeError if that would change its
/// kind.
Handle stored_as(const char* op, const Arg&, DType to);

}  // namespace lazy::detail
