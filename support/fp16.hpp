// Provides float16 (IEEE binary16) and bfloat16 as 2-byte values. Arithmetic happens in float: a value
// converts to float by itself, and back with round to nearest even. Only integer operations on bits are used,
// so neither F16C nor the rounding mode matter.
#pragma once
#include <bit>
#include <compare>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace lazy {
namespace fp16 {

/// Rounds an IEEE value of `SrcE` exponent and `SrcM` mantissa bits to one of `E` and `M`: to nearest even,
/// denormals preserved, overflow to infinity, NaN quieted with the top of its payload preserved.
template <int SrcE, int SrcM, int E, int M>
constexpr uint16_t round_to(uint64_t u) {
  constexpr int src_bias = (1 << (SrcE - 1)) - 1, bias = (1 << (E - 1)) - 1;
  constexpr uint64_t infinity = ((uint64_t{1} << SrcE) - 1) << SrcM;
  constexpr uint16_t infinity16 = static_cast<uint16_t>(((1 << E) - 1) << M);
  const auto sign = static_cast<uint16_t>((u >> (SrcE + SrcM)) << 15);
  const uint64_t a = u & ((uint64_t{1} << (SrcE + SrcM)) - 1);
  uint64_t mantissa = a & ((uint64_t{1} << SrcM) - 1);
  if (a > infinity)
    return static_cast<uint16_t>(sign | infinity16 | (1 << (M - 1)) |
                                 static_cast<uint16_t>(mantissa >> (SrcM - M)));
  const int field = static_cast<int>(a >> SrcM);
  const int exponent = (field ? field : 1) - src_bias;
  if (field) mantissa |= uint64_t{1} << SrcM;
  if (exponent > bias) return sign | infinity16;
  const int below = exponent < 1 - bias ? 1 - bias - exponent : 0;  // how far under the smallest normal
  const int shift = SrcM - M + below;
  if (shift > SrcM + 2) return sign;
  uint64_t q = mantissa >> shift;
  const uint64_t rest = mantissa & ((uint64_t{1} << shift) - 1), half = uint64_t{1} << (shift - 1);
  q += rest > half || (rest == half && (q & 1));
  // q still has its leading one, which is worth one exponent step; a carry out of the mantissa lands there
  // too.
  const int base = below ? 0 : exponent + bias - 1;
  return static_cast<uint16_t>(sign | ((static_cast<uint64_t>(base) << M) + q));
}

constexpr uint16_t float16_bits(float f) {
  const uint32_t u = std::bit_cast<uint32_t>(f), a = u & 0x7fffffff;
  const auto sign = static_cast<uint16_t>(u >> 16 & 0x8000);
  if (a >= 0x38800000 &&
      a < 0x47800000)  // normal in both: add half a unit (less one if even) and drop 13 bits
    return static_cast<uint16_t>(sign | ((a - (112u << 23) + 0xfff + (a >> 13 & 1)) >> 13));
  return round_to<8, 23, 5, 10>(u);
}
constexpr uint16_t bfloat16_bits(float f) {
  const uint32_t u = std::bit_cast<uint32_t>(f);
  if ((u & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(u >> 16 | 0x40);
  return static_cast<uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
constexpr uint16_t float16_bits(double d) { return round_to<11, 52, 5, 10>(std::bit_cast<uint64_t>(d)); }
constexpr uint16_t bfloat16_bits(double d) { return round_to<11, 52, 8, 7>(std::bit_cast<uint64_t>(d)); }

/// Returns the exact value; a signalling NaN comes out quiet, as vcvtph2ps gives it.
constexpr float float16_value(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, m = h & 0x3ff, e = h >> 10 & 31;
  if (e == 31) return std::bit_cast<float>(sign | 0x7f800000 | m << 13 | (m ? 0x400000u : 0u));
  if (e) return std::bit_cast<float>(sign | (e + 112) << 23 | m << 13);
  if (!m) return std::bit_cast<float>(sign);
  const auto width = static_cast<uint32_t>(std::bit_width(m));
  return std::bit_cast<float>(sign | (102 + width) << 23 | (m << (24 - width) & 0x7fffff));
}
/// Returns the exact value: the bits are a float's upper half.
constexpr float bfloat16_value(uint16_t b) { return std::bit_cast<float>(static_cast<uint32_t>(b) << 16); }

/// Returns an integer as a double that rounds on to 16 bits as the integer itself would: bits past the 53rd
/// fold into a sticky one.
template <class T>
constexpr double sticky_double(T v) {
  using U = std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>>;
  const bool negative = v < T{0};
  uint64_t m = static_cast<U>(v);
  if (negative) m = static_cast<U>(U{0} - static_cast<U>(v));
  double d = 0;
  if (m >> 53) d = static_cast<double>(m >> 11 | ((m & 0x7ff) != 0)) * 2048.0;
  else d = static_cast<double>(m);
  return negative ? -d : d;
}

/// Has the operators of 16-bit values, among themselves and with C++'s numbers: as floats. Without them a
/// value would convert to float and to a tensor equally well.
struct Operators {
  template <class T>
  static constexpr auto wide(T v) {
    if constexpr (std::is_arithmetic_v<T>) return v;
    else return static_cast<float>(v);
  }
  template <class A, class B>
  static constexpr bool numbers = (std::is_base_of_v<Operators, A> &&
                                   (std::is_arithmetic_v<B> || std::is_base_of_v<Operators, B>)) ||
                                  (std::is_arithmetic_v<A> && std::is_base_of_v<Operators, B>);

  template <class A, class B>
  requires numbers<A, B>
  friend constexpr auto operator+(A a, B b) { return wide(a) + wide(b); }
  template <class A, class B>
  requires numbers<A, B>
  friend constexpr auto operator-(A a, B b) { return wide(a) - wide(b); }
  template <class A, class B>
  requires numbers<A, B>
  friend constexpr auto operator*(A a, B b) { return wide(a) * wide(b); }
  template <class A, class B>
  requires numbers<A, B>
  friend constexpr auto operator/(A a, B b) { return wide(a) / wide(b); }
  template <class A, class B>
  requires numbers<A, B>
  friend constexpr bool operator==(A a, B b) { return wide(a) == wide(b); }
  template <class A, class B>
  requires numbers<A, B>
  friend constexpr auto operator<=>(A a, B b) {
    return static_cast<double>(wide(a)) <=> static_cast<double>(wide(b));
  }
};

}  // namespace fp16

/// Holds an IEEE binary16: 5 exponent bits, 10 mantissa bits.
struct float16_t : fp16::Operators {
  uint16_t bits;

  float16_t() = default;
  constexpr float16_t(float v) : bits(fp16::float16_bits(v)) {}
  constexpr float16_t(double v) : bits(fp16::float16_bits(v)) {}
  template <class T>
  requires std::is_integral_v<T>
  constexpr float16_t(T v) : bits(fp16::float16_bits(fp16::sticky_double(v))) {}
  static constexpr float16_t from_bits(uint16_t b) {
    float16_t h{0.0f};
    h.bits = b;
    return h;
  }
  constexpr operator float() const { return fp16::float16_value(bits); }
  constexpr float16_t operator-() const { return from_bits(bits ^ 0x8000); }
  constexpr float16_t& operator+=(float v) { return *this = float16_t(float(*this) + v); }
  constexpr float16_t& operator-=(float v) { return *this = float16_t(float(*this) - v); }
  constexpr float16_t& operator*=(float v) { return *this = float16_t(float(*this) * v); }
  constexpr float16_t& operator/=(float v) { return *this = float16_t(float(*this) / v); }
};

/// Holds the upper half of a float32: 8 exponent bits, 7 mantissa bits.
struct bfloat16_t : fp16::Operators {
  uint16_t bits;

  bfloat16_t() = default;
  constexpr bfloat16_t(float v) : bits(fp16::bfloat16_bits(v)) {}
  constexpr bfloat16_t(double v) : bits(fp16::bfloat16_bits(v)) {}
  template <class T>
  requires std::is_integral_v<T>
  constexpr bfloat16_t(T v) : bits(fp16::bfloat16_bits(fp16::sticky_double(v))) {}
  static constexpr bfloat16_t from_bits(uint16_t b) {
    bfloat16_t h{0.0f};
    h.bits = b;
    return h;
  }
  constexpr operator float() const { return fp16::bfloat16_value(bits); }
  constexpr bfloat16_t operator-() const { return from_bits(bits ^ 0x8000); }
  constexpr bfloat16_t& operator+=(float v) { return *this = bfloat16_t(float(*this) + v); }
  constexpr bfloat16_t& operator-=(float v) { return *this = bfloat16_t(float(*this) - v); }
  constexpr bfloat16_t& operator*=(float v) { return *this = bfloat16_t(float(*this) * v); }
  constexpr bfloat16_t& operator/=(float v) { return *this = bfloat16_t(float(*this) / v); }
};

static_assert(sizeof(float16_t) == 2 && std::is_trivially_copyable_v<float16_t> &&
              std::is_trivial_v<float16_t>);
static_assert(sizeof(bfloat16_t) == 2 && std::is_trivially_copyable_v<bfloat16_t> &&
              std::is_trivial_v<bfloat16_t>);

namespace fp16 {
/// Defines the common part of both std::numeric_limits, from the widths of mantissa and exponent.
template <class H, int E, int M>
struct Limits : std::numeric_limits<float> {
  static constexpr int bias = (1 << (E - 1)) - 1;
  static constexpr int digits = M + 1, digits10 = M * 30103 / 100000,
                       max_digits10 = 2 + (M + 1) * 30103 / 100000;
  static constexpr int max_exponent = bias + 1, min_exponent = 2 - bias;
  static constexpr int max_exponent10 = bias * 30103 / 100000,
                       min_exponent10 = -((bias - 1) * 30103 / 100000);
  static constexpr H bits(int b) noexcept { return H::from_bits(static_cast<uint16_t>(b)); }
  static constexpr H min() noexcept { return bits(1 << M); }
  static constexpr H max() noexcept { return bits((((1 << E) - 1) << M) - 1); }
  static constexpr H lowest() noexcept { return -max(); }
  static constexpr H epsilon() noexcept { return bits((bias - M) << M); }
  static constexpr H round_error() noexcept { return H(0.5f); }
  static constexpr H infinity() noexcept { return bits(((1 << E) - 1) << M); }
  static constexpr H quiet_NaN() noexcept { return bits((((1 << E) - 1) << M) | (1 << (M - 1))); }
  static constexpr H signaling_NaN() noexcept { return bits((((1 << E) - 1) << M) | 1); }
  static constexpr H denorm_min() noexcept { return bits(1); }
};
}  // namespace fp16
}  // namespace lazy

template <>
struct std::numeric_limits<lazy::float16_t> : lazy::fp16::Limits<lazy::float16_t, 5, 10> {};
template <>
struct std::numeric_limits<lazy::bfloat16_t> : lazy::fp16::Limits<lazy::bfloat16_t, 8, 7> {};
