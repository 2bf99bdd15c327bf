#include "lazy/ops/float8.hpp"

#include <cmath>
#include <limits>

#include "lazy/ops/recorder.hpp"

namespace lazy {
namespace {

using namespace detail;

/// Holds what tells the formats apart. A code is a sign, an exponent and a mantissa; codes of exponent 0
/// count steps of 2^(least - mantissa).
struct Layout {
  int mantissa;            // bits
  int least, most;         // exponents of the smallest and the largest normal number
  int last, not_a_number;  // the largest number's code, and a NaN's
};
constexpr Layout layout_of(Float8 f) {
  return f == Float8::e4m3 ? Layout{3, -6, 8, 0x7e, 0x7f} : Layout{2, -14, 15, 0x7b, 0x7f};
}

constexpr int kMiddle = 32;

/// Returns 2^(n - kMiddle) for integers n, uint32, below 64, exactly: the product of what its bits stand for.
Handle power_of_two(const Recorder& r, const Handle& bits) {
  constexpr int kBits = 6;
  Handle all = r.number(std::ldexp(1.0, -kMiddle), float32);
  for (int b = 0; b < kBits; ++b) {
    const Handle set =
        r.op(Op::not_equal, r.op(Op::bitwise_and, bits, ScalarNumber(1 << b)), ScalarNumber(0));
    all =
        r.op(Op::multiply, r.where(set, r.number(std::ldexp(1.0, 1 << b), float32), ScalarNumber(1.0)), all);
  }
  return all;
}

}  // namespace

Tensor to_float8(Arg x, Float8 format) {
  const Recorder r{"to_float8", x.site()};
  const Layout how = layout_of(format);
  const Handle given = Operand(r.name, x).take();
  if (!is_float(given->dtype))
    r.fail<DtypeError>(std::string("takes floating-point numbers, not ") + name_of(given->dtype));
  const Handle h = r.as(float32, given);
  const Handle magnitude = r.op(Op::minimum, r.op(Op::abs, h), largest_of(format));
  // A logarithm that is rounded to the next whole number does no harm: both exponents give one code there.
  const Handle known = r.where(r.op(Op::isnan, magnitude), 0.0, magnitude);
  const Handle exponent =
      r.op(Op::minimum, r.op(Op::maximum, r.op(Op::floor, r.op(Op::log2, known)), how.least), how.most);
  const Handle above = r.as(uint32, r.op(Op::subtract, exponent, how.least));  // the least exponent
  const Handle power = r.op(Op::subtract, ScalarNumber(kMiddle + how.mantissa - how.least), above);
  const Handle steps = r.op(Op::round, r.op(Op::multiply, known, power_of_two(r, power)));
  const Handle before = r.op(Op::left_shift, above, ScalarNumber(how.mantissa));
  const Handle code =
      r.where(r.op(Op::isnan, h), ScalarNumber(how.not_a_number), r.op(Op::add, r.as(uint32, steps), before));
  const Handle sign = r.op(Op::multiply, r.as(uint32, r.op(Op::signbit, h)), ScalarNumber(128));
  return r.tensor(r.as(uint8, r.op(Op::bitwise_or, code, sign)));
}

Tensor from_float8(Arg codes, Float8 format, DType dtype) {
  const Recorder r{"from_float8", codes.site()};
  const Layout how = layout_of(format);
  const Handle given = Operand(r.name, codes).take();
  if (given->dtype != uint8) r.fail<DtypeError>(std::string("codes are uint8, not ") + name_of(given->dtype));
  if (!is_float(dtype)) r.fail<DtypeError>(std::string("there are no codes of ") + name_of(dtype));
  const Handle bits = r.op(Op::bitwise_and, r.as(uint32, given), ScalarNumber(0x7f));
  const Handle exponent = r.op(Op::right_shift, bits, ScalarNumber(how.mantissa));
  const Handle fraction = r.op(Op::bitwise_and, bits, ScalarNumber((1 << how.mantissa) - 1));
  const Handle normal = r.op(Op::greater, exponent, ScalarNumber(0));
  const Handle steps = r.op(
      Op::add, fraction, r.where(normal, ScalarNumber(1 << how.mantissa), r.number(ScalarNumber(0), uint32)));
  const Handle power = r.op(Op::add, r.op(Op::maximum, exponent, ScalarNumber(1)),
                            ScalarNumber(kMiddle + how.least - 1 - how.mantissa));
  Handle value = r.op(Op::multiply, r.as(float32, steps), power_of_two(r, power));
  if (format == Float8::e5m2)
    value = r.where(r.op(Op::equal, bits, ScalarNumber(how.last + 1)),
                    std::numeric_limits<double>::infinity(), value);
  const Handle none = r.op(Op::greater, bits, ScalarNumber(format == Float8::e5m2 ? how.last + 1 : how.last));
  value = r.where(none, std::numeric_limits<double>::quiet_NaN(), value);
  const Handle negative = r.op(Op::greater_equal, given, ScalarNumber(128));
  return r.tensor(r.as(dtype, r.where(negative, r.op(Op::negative, value), value)));
}

}  // namespace lazy
