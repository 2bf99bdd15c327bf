// Compares. Integers and a scalar are compared exactly: the scalar is not squeezed into the tensor's dtype,
// nor are the integers rounded to floats.
#include <cmath>
#include <limits>
#include <optional>

#include "lazy/core/build.hpp"
#include "lazy/core/scalar.hpp"
#include "lazy/ops/elementwise.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Returns the op that gives the same with its operands exchanged.
Op mirrored(Op op) {
  switch (op) {
    case Op::less: return Op::greater;
    case Op::less_equal: return Op::greater_equal;
    case Op::greater: return Op::less;
    case Op::greater_equal: return Op::less_equal;
    default: return op;
  }
}

/// Holds the integer that is compared with in place of a scalar, or the scalar's place when all integers lie
/// on one side of it.
struct Bound {
  enum class Place : uint8_t { below, within, above, nowhere };  // seen from the dtype's range
  Place place;
  ScalarNumber value{};  // set for Place::within
};

/// Returns where the integer lies in relation to the dtype's range.
Bound placed(Wide v, DType t) {
  return with_type(t, [&](auto tag) -> Bound {
    using L = std::numeric_limits<decltype(tag)>;
    if constexpr (!L::is_integer) return {Bound::Place::nowhere};
    else if (v < static_cast<Wide>(L::min())) return {Bound::Place::below};
    else if (v > static_cast<Wide>(L::max())) return {Bound::Place::above};
    else if (v > INT64_MAX) return {Bound::Place::within, ScalarNumber(static_cast<uint64_t>(v))};
    else return {Bound::Place::within, ScalarNumber(static_cast<int64_t>(v))};
  });
}

/// Returns the integer to compare with: x < 2.5 is x < 3, and x <= 2.5 is x <= 2; no integer equals 2.5, and
/// none compares with NaN.
Bound bound(Op op, const ScalarNumber& n, DType t) {
  if (n.kind == ScalarNumber::Kind::natural) return placed(Wide(n.u), t);
  if (n.kind != ScalarNumber::Kind::real) return placed(Wide(n.i), t);
  const double up = in_default_mode([&] { return std::ceil(n.d); }),
               down = in_default_mode([&] { return std::floor(n.d); });
  if (std::isnan(n.d) || ((op == Op::equal || op == Op::not_equal) && up != down))
    return {Bound::Place::nowhere};
  const double d = op == Op::less || op == Op::greater_equal ? up : down;
  if (std::abs(d) > 0x1p64) return {d < 0 ? Bound::Place::below : Bound::Place::above};
  return placed(static_cast<Wide>(d), t);
}

/// Returns the result of comparing any integer with a scalar at such a place.
bool known(Op op, Bound::Place place) {
  if (op == Op::not_equal) return true;
  if (op == Op::less || op == Op::less_equal) return place == Bound::Place::above;
  return (op == Op::greater || op == Op::greater_equal) && place == Bound::Place::below;
}

/// Returns the lowest or the highest integer of the dtype.
ScalarNumber end_of_range(DType t, bool lowest) {
  return with_type(t, [&](auto tag) -> ScalarNumber {
    using L = std::numeric_limits<decltype(tag)>;
    if constexpr (L::is_integer) return ScalarNumber(lowest ? L::min() : L::max());
    else return {};
  });
}

/// Records the comparison of integers with a scalar. A result that the scalar alone determines is recorded
/// with literals, too: values must not decide which program is recorded. The literal combines with a
/// comparison that does not contradict it.
Tensor with_scalar(const char* name, Op op, Arg& x, const ScalarNumber& n, const Site& s) {
  const Operand h(name, x);
  const DType t = h->dtype;
  const Bound b = bound(op, n, t);
  const bool within = b.place == Bound::Place::within;
  const ScalarNumber value = within ? b.value : end_of_range(t, op == Op::less || op == Op::greater_equal);
  const Handle compared = binary(name, op, h, constant(value, t, {}, s), s);
  if (within && n.kind != ScalarNumber::Kind::real) return Tensor(compared);
  const bool either = op == Op::less || op == Op::greater || op == Op::not_equal,
             answer = within ? !either : known(op, b.place);
  return Tensor(binary(name, either ? Op::bitwise_or : Op::bitwise_and, compared,
                       constant(ScalarNumber(answer), bool_, {}, s), s));
}

Tensor comparison(const char* name, Op op, Arg& a, Arg& b) {
  if (a.is_tensor() != b.is_tensor() && !(a.handle() && b.handle())) {
    Arg &x = a.is_tensor() ? a : b, &n = a.is_tensor() ? b : a;
    const bool integers = x.handle() && is_int(x.handle()->dtype),
               bools = x.handle() && is_bool(x.handle()->dtype);
    if (integers || (bools && n.number().kind == ScalarNumber::Kind::natural))
      return with_scalar(name, a.is_tensor() ? op : mirrored(op), x, n.number(), a.site());
  }
  const DType t = common_type(name, {&a, &b});
  const Operand x(name, a, t), y(name, b, t);
  return Tensor(binary(name, op, x, y, a.site()));
}

}  // namespace

Tensor equal(Arg a, Arg b) { return comparison("equal", Op::equal, a, b); }
Tensor not_equal(Arg a, Arg b) { return comparison("not_equal", Op::not_equal, a, b); }
Tensor less(Arg a, Arg b) { return comparison("less", Op::less, a, b); }
Tensor less_equal(Arg a, Arg b) { return comparison("less_equal", Op::less_equal, a, b); }
Tensor greater(Arg a, Arg b) { return comparison("greater", Op::greater, a, b); }
Tensor greater_equal(Arg a, Arg b) { return comparison("greater_equal", Op::greater_equal, a, b); }

}  // namespace lazy
