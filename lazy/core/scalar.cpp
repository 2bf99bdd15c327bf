#include "lazy/core/scalar.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "lazy/core/arg.hpp"
#include "support/float_mode.hpp"

namespace lazy::detail {

namespace {

[[gnu::noinline]] void convert_each(DType from, const void* in, DType to, void* out, size_t n) {
  with_type(from, [&](auto f) {
    with_type(to, [&](auto t) {
      const auto* source = static_cast<const decltype(f)*>(in);
      auto* target = static_cast<decltype(t)*>(out);
      for (size_t i = 0; i < n; ++i) target[i] = cast_value<decltype(t)>(source[i]);
    });
  });
}

/// True for nearly every literal: small integers and fractions of a few bits, which no mode can change.
bool is_float_already(double d) {
  constexpr uint64_t kDropped = (uint64_t{1} << 29) - 1, kSmallest = 1023 - 126, kNormal = 254;
  const auto bits = std::bit_cast<uint64_t>(d);
  return (bits & kDropped) == 0 && (bits >> 52 & 0x7ff) - kSmallest < kNormal;
}

float narrowed(double d) {
  if (is_float_already(d)) return static_cast<float>(d);
  const FloatMode mode;
  asm volatile("" : "+x"(d));  // keeps the conversion after the mode is set
  auto f = static_cast<float>(d);
  asm volatile("" : "+x"(f));  // and before it is reset
  return f;
}

}  // namespace

void convert(DType from, const void* in, DType to, void* out, size_t n) {
  if (from == to) {
    if (n) std::memcpy(out, in, n * size_of(to));
    return;
  }
  const FloatMode mode;
  convert_each(from, in, to, out, n);
}

jit::Scalar convert(jit::Scalar v, DType from, DType to) {
  jit::Scalar r;
  convert(from, &v.bits, to, &r.bits, 1);
  return r;
}

jit::Scalar to_scalar(const ScalarNumber& n, DType to) {
  constexpr int64_t kWhole = 1 << 24;  // a float represents every integer up to this one
  switch (n.kind) {
    case ScalarNumber::Kind::boolean:
    case ScalarNumber::Kind::integer:
      if (to == float32 && n.i >= -kWhole && n.i <= kWhole) return jit::Scalar::of(static_cast<float>(n.i));
      return convert(jit::Scalar::of(n.i), int64, to);
    case ScalarNumber::Kind::natural: return convert(jit::Scalar::of(n.u), uint64, to);
    case ScalarNumber::Kind::complex:
    case ScalarNumber::Kind::real: break;
  }
  if (to == float32) return jit::Scalar::of(narrowed(n.d));
  return convert(jit::Scalar::of(n.d), float64, to);
}

bool number_fits(const ScalarNumber& n, DType t) {
  if (!is_int(t) || n.kind >= ScalarNumber::Kind::real) return true;
  return with_type(t, [&](auto v) -> bool {
    using T = decltype(v);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return n.kind == ScalarNumber::Kind::natural ? std::in_range<T>(n.u) : std::in_range<T>(n.i);
    else return true;
  });
}

}  // namespace lazy::detail
