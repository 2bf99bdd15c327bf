// Implements arange and linspace: how many values, which dtype, and the ramp itself.
#include <cmath>

#include "jit/backend/registry.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/core/scalar.hpp"
#include "lazy/ops/creation.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Records the index 0, 1, ... n - 1, on the user's device.
Handle index(int64_t n, const MaybeDevice& device, const Site& s) {
  return iota(0, {n}, device.given ? device.value : jit::default_device(s), s);
}

bool is_real(const ScalarNumber& n) { return n.kind == ScalarNumber::Kind::real; }
Wide exact(const ScalarNumber& n) { return n.kind == ScalarNumber::Kind::natural ? Wide(n.u) : Wide(n.i); }

/// Describes start, start + step, ... before stop.
struct Range {
  ScalarNumber start, stop, step;
  bool real() const { return is_real(start) || is_real(stop) || is_real(step); }
  bool natural() const {
    return start.kind == ScalarNumber::Kind::natural || stop.kind == ScalarNumber::Kind::natural;
  }
  DType dtype() const { return real() ? get_default_dtype() : natural() ? uint64 : int64; }
};

int64_t checked_count(Wide n, const Site& s) {
  if (n > INT64_MAX / 16)
    fail<ShapeError>("arange", to_string(n) + " values are more than can be addressed", s);
  return static_cast<int64_t>(n);
}

int64_t count_of(const Range& r, const Site& s) {
  if (r.step.as_double() == 0) fail<ShapeError>("arange", "the step can't be 0", s);
  if (!r.real()) {
    const Wide step = exact(r.step), distance = exact(r.stop) - exact(r.start);
    if (step > 0 ? distance <= 0 : distance >= 0) return 0;
    return checked_count((step > 0 ? distance - 1 : distance + 1) / step + 1, s);
  }
  const double start = r.start.as_double(), stop = r.stop.as_double(), step = r.step.as_double();
  const double count = in_default_mode([&] {
    const double n = std::ceil((stop - start) / step);
    if (!std::isinf(n) || !std::isfinite(start) || !std::isfinite(stop)) return n;
    return std::ceil((stop / 4 - start / 4) / (step / 4));  // the distance may be above the range
  });
  if (!(count < 0x1p64)) fail<ShapeError>("arange", "the range is not finite", s);
  return count > 0 ? checked_count(static_cast<Wide>(count), s) : 0;
}

/// Returns the number without its fraction.
Wide truncated(const ScalarNumber& v) {
  if (!is_real(v)) return exact(v);
  constexpr Wide far = Wide(1) << 100;  // beyond every dtype
  return std::abs(v.d) < 0x1p100 ? static_cast<Wide>(v.d) : v.d < 0 ? -far : far;
}

/// Throws DtypeError if the ends of n values do not fit `t`; what lies between them then does.
void check_values(const Range& r, int64_t n, DType t, const Site& s) {
  if (!is_int(t) || n == 0) return;
  const Wide first = truncated(r.start);
  Wide last = 0;
  const bool beyond = __builtin_mul_overflow(truncated(r.step), Wide(n - 1), &last) ||
                      __builtin_add_overflow(first, last, &last);
  const auto check = [&](Wide v, bool fits) {
    if (!fits)
      fail<DtypeError>(
          "arange", (v == last && beyond ? "the last value" : to_string(v)) + " does not fit " + name_of(t),
          s);
  };
  with_type(t, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) {
      const auto fits = [](Wide v) {
        return v >= Wide(std::numeric_limits<T>::min()) && v <= Wide(std::numeric_limits<T>::max());
      };
      check(first, fits(first));
      check(last, !beyond && fits(last));
    }
  });
}

/// Records the index as the dtype, times step, plus start; the arguments that were given decide which terms
/// there are, never their values, so that values don't change the program. In integers that wrap the values
/// are right if the ends fit.
Tensor ramp(const Range& r, bool has_start, bool has_step, MaybeDType dtype, MaybeDevice device,
            const Site& s) {
  const DType t = dtype.or_else(r.dtype()), work = is_bool(t) ? int64 : t;
  const int64_t n = count_of(r, s);
  check_values(r, n, t, s);
  // The term wraps as the sums do; a cast of a floating-point step would not.
  const auto term = [&](const ScalarNumber& v) {
    return constant(is_int(t) && is_real(v) ? ScalarNumber(static_cast<int64_t>(truncated(v))) : v, work, {},
                    s);
  };
  Handle h = cast(index(n, device, s), work, s);
  if (has_step) h = binary("arange", Op::multiply, h, term(r.step), s);
  if (has_start) h = binary("arange", Op::add, h, term(r.start), s);
  return Tensor(cast(h, t, s));
}

}  // namespace

Tensor arange(ScalarNumber stop, MaybeDType t, MaybeDevice device, Site s) {
  return ramp({0, stop, 1}, false, false, t, device, s);
}
Tensor arange(ScalarNumber start, ScalarNumber stop, MaybeDType t, MaybeDevice device, Site s) {
  return ramp({start, stop, 1}, true, false, t, device, s);
}
Tensor arange(ScalarNumber start, ScalarNumber stop, ScalarNumber step, MaybeDType t, MaybeDevice device,
              Site s) {
  return ramp({start, stop, step}, true, true, t, device, s);
}

Tensor linspace(ScalarNumber start, ScalarNumber stop, IntegerArg num, bool endpoint, MaybeDType t,
                MaybeDevice device, Site s) {
  if (num < 0)
    fail<ShapeError>("linspace", "the number of values can't be negative: " + std::to_string(num), s);
  check_countable("linspace", {num}, s);
  const double a = start.as_double(), b = stop.as_double();
  const int64_t intervals = endpoint ? num - 1 : num.value;
  const double step = in_default_mode([&] {
    if (intervals <= 0) return 0.;
    const auto n = static_cast<double>(intervals);
    const double even = (b - a) / n;
    if (!std::isinf(even) || !std::isfinite(a) || !std::isfinite(b)) return even;
    return b / n - a / n;  // stop - start is above the range
  });
  const Handle i = index(num, device, s);
  Handle h = binary("linspace", Op::multiply, cast(i, float64, s), constant(step, float64, {}, s), s);
  h = binary("linspace", Op::add, h, constant(a, float64, {}, s), s);
  if (endpoint && num > 1) {
    const Handle last = binary("linspace", Op::equal, i, constant(num - 1, int64, {}, s), s);
    h = detail::where("linspace", last, constant(b, float64, {}, s), h, s);
  }
  return Tensor(cast(h, t.or_else(get_default_dtype()), s));
}

Tensor detail::linspace_of_complex(std::complex<double> start, std::complex<double> stop, IntegerArg num,
                                   bool endpoint, DType t, MaybeDevice device, const Site& s) {
  if (!is_complex(t))
    fail<DtypeError>("linspace", std::string("complex numbers do not fit ") + name_of(t), s);
  const auto plane = [&](double from, double to) {
    return linspace(from, to, num, endpoint, plane_type(t), device, s).handle();
  };
  return Tensor(complex(plane(start.real(), stop.real()), plane(start.imag(), stop.imag()), s));
}

}  // namespace lazy
