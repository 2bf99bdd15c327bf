// Lets composites be written as formulas: terms record an op for each operator. Internal to lazy/.
//
//   const Formula f("silu", {&a});
//   const Term x = f.term(a);
//   Composite whole(f.name, {&x.handle()}, f.site);
//   return f.finish(whole, x * sigmoid(x));
#pragma once
#include "jit/graph/indexed.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy::detail {

class Formula;

/// Holds a value of a formula. Operators record ops in the formula's name at the user's line; a double beside
/// a term has the term's dtype.
class Term {
 public:
  Term() = default;
  Term(const Formula& f, Handle h) : formula_(&f), handle_(std::move(h)) {}

  const Handle& handle() const { return handle_; }
  const Formula& formula() const { return *formula_; }
  const Shape& shape() const;
  /// Returns the extent of an axis that counts from the end if it is negative.
  int64_t extent(int axis) const;
  int rank() const { return shape().size(); }
  /// Returns a constant of the term's dtype.
  Term number(double) const;
  /// Converts to a dtype.
  Term as(DType) const;

 private:
  const Formula* formula_ = nullptr;  // owned by the function that is called
  Handle handle_;
};

/// Lets formulas that are evaluated one after another with the same numbers record each number once: the n-th
/// number of each is one value. That is for speed alone: a number that differs is recorded by itself.
class SharedNumbers {
 public:
  /// Starts at the first number again.
  void restart() { next_ = 0; }
  Handle next(const Recorder&, const ScalarNumber&, DType);

 private:
  struct Known {
    ScalarNumber number;
    Handle value;
  };
  std::vector<Known> known_;
  size_t next_ = 0;
};

/// Marks a function as a contraction, which a policy may have take its operands in another dtype.
struct Contraction {};
inline constexpr Contraction contraction{};

/// Records the ops of one function, whose dtypes it knows.
class Formula : public Recorder {
 public:
  /// Promotes the arguments, and those optional tensors that are given, to a floating-point dtype.
  Formula(const char* name, std::initializer_list<const Arg*> arguments,
          std::initializer_list<const Tensor*> optional = {});
  /// Likewise, of a contraction: a policy is asked before that (policy.hpp).
  Formula(const char* name, Contraction, std::initializer_list<const Arg*> arguments,
          std::initializer_list<const Tensor*> optional = {});
  /// Leaves dtypes to the terms, for functions that don't compute with elements.
  Formula(const char* name, const Site& site) : Recorder{name, site}, result(bool_), work(bool_) {}
  Formula(const Formula&) = delete;

  DType result;                      // dtype of the function's value
  DType work;                        // dtype of its terms: float32 for 16-bit floats, else `result`
  SharedNumbers* numbers = nullptr;  // of terms; owned by the function's caller, null if they are not shared

  Term term(Arg& a) const { return {*this, Operand(name, a, work).take()}; }
  /// Returns an optional tensor that is given.
  Term term(const Tensor& t) const;
  Term term(Handle h) const { return {*this, std::move(h)}; }
  /// Returns 0, 1, ... along an axis of a shape, int64, on the device of `like`.
  Term index(int axis, const Shape& shape, const Term& like) const;
  /// Rounds to the dtype of the result, which ends the composite.
  Tensor finish(Composite& whole, const Term& value) const;
  /// Likewise, of a composite that has a derivative of its own (Composite::result).
  template <class F>
  Tensor finish(Composite& whole, const Term& value, F&& derivative) const {
    return tensor(whole.result(as(result, value.handle()), std::forward<F>(derivative)));
  }
};

Term binary(Op, const Term&, const Term&);
Term unary(Op, const Term&);

#define LAZY_TERMS(function, op)                                                           \
  inline Term function(const Term& a, const Term& b) { return binary(Op::op, a, b); }      \
  inline Term function(const Term& a, double b) { return binary(Op::op, a, a.number(b)); } \
  inline Term function(double a, const Term& b) { return binary(Op::op, b.number(a), b); }
LAZY_TERMS(operator+, add)
LAZY_TERMS(operator-, subtract)
LAZY_TERMS(operator*, multiply)
LAZY_TERMS(operator/, divide)
LAZY_TERMS(operator%, remainder)
LAZY_TERMS(operator<, less)
LAZY_TERMS(operator<=, less_equal)
LAZY_TERMS(operator>, greater)
LAZY_TERMS(operator>=, greater_equal)
LAZY_TERMS(operator==, equal)
LAZY_TERMS(operator!=, not_equal)
LAZY_TERMS(maximum, maximum)
LAZY_TERMS(minimum, minimum)
LAZY_TERMS(copysign, copysign)
LAZY_TERMS(power, power)
#undef LAZY_TERMS
inline Term operator&(const Term& a, const Term& b) { return binary(Op::bitwise_and, a, b); }
inline Term operator|(const Term& a, const Term& b) { return binary(Op::bitwise_or, a, b); }
inline Term operator!(const Term& a) { return unary(Op::bitwise_invert, a); }
inline Term operator-(const Term& a) { return unary(Op::negative, a); }

#define LAZY_TERM(function) \
  inline Term function(const Term& a) { return unary(Op::function, a); }
LAZY_TERM(abs)
LAZY_TERM(exp)
LAZY_TERM(expm1)
LAZY_TERM(floor)
LAZY_TERM(log)
LAZY_TERM(log1p)
LAZY_TERM(round)
LAZY_TERM(rsqrt)
LAZY_TERM(sigmoid)
LAZY_TERM(sqrt)
LAZY_TERM(tanh)
#undef LAZY_TERM

Term where(const Term& condition, const Term& a, const Term& b);
inline Term where(const Term& c, const Term& a, double b) { return where(c, a, a.number(b)); }
inline Term where(const Term& c, double a, const Term& b) { return where(c, b.number(a), b); }

/// Reduce along axes, of which none are all of them; the axes stay with extent 1 unless they are dropped.
Term sum(const Term&, const Dims& axes, KeepDims = keepdims);
Term mean(const Term&, const Dims& axes, KeepDims = keepdims);
Term max(const Term&, const Dims& axes, KeepDims = keepdims);

Term reshape(const Term&, const Shape&);
Term permute(const Term&, const Dims& axes);
Term broadcast(const Term&, const Shape&);
/// Returns `count` elements along an axis from `start`.
Term part(const Term&, int axis, int64_t start, int64_t count);
/// Returns the elements that an integer index names along an axis; the other axes of the two broadcast.
Term gathered(const Term&, const Term& index, int axis, Bounds);

/// Returns the product of the extents of the axes, and the shape with `extent` in place of an axis'.
int64_t count_along(const Shape&, const Dims& axes);
Shape with_extent(Shape, int axis, int64_t extent);
/// Returns the shape of one number for each index of `axis` beside values of `rank` axes.
Shape along_axis(int rank, int axis, int64_t extent);

}  // namespace lazy::detail
