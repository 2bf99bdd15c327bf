// Provides numbers that find mistakes.
#include <bit>
#include <cmath>
#include <limits>

#include "support/fp16.hpp"
#include "tests/differential/random_kernel.hpp"
#include "tests/differential/random_source.hpp"

namespace lazy::test {
namespace {

template <class T>
double special_float(Source& s) {
  using L = std::numeric_limits<T>;
  const double v[] = {std::nan(""),
                      HUGE_VAL,
                      0.0,
                      static_cast<double>(L::denorm_min()),
                      static_cast<double>(L::denorm_min()) * 3,
                      static_cast<double>(L::min()),
                      static_cast<double>(L::max()),
                      1.0,
                      0.5,
                      1.0 + static_cast<double>(L::epsilon()),
                      1.0 - static_cast<double>(L::epsilon()) / 2,
                      2147483648.0,
                      2147483520.0,
                      9223372036854775808.0,
                      18446744073709551616.0,
                      128.0,
                      65535.5,
                      2.5,
                      1.5,
                      88.7,
                      709.5,
                      745.0,
                      103.0,
                      3.14159265358979,
                      1e5,
                      8388609.0};
  const double x = v[s.below(std::size(v))];
  return s.percent(50) ? -x : x;
}

double ranged(Source& s) {
  const double m = 1.0 + static_cast<double>(s.below(1 << 20)) / (1 << 20);
  const double x = std::ldexp(m, static_cast<int>(s.percent(80) ? s.between(-6, 6) : s.between(-40, 40)));
  return s.percent(50) ? -x : x;
}

template <class T>
double any_float(Values kind, Source& s) {
  if (kind == Values::small) return static_cast<double>(s.between(-32, 32)) / 4;
  if (kind == Values::special && s.percent(40)) return special_float<T>(s);
  return ranged(s);
}

uint64_t integer(int bits, bool is_signed, Values kind, Source& s) {
  const uint64_t least = is_signed ? 1ull << (bits - 1) : 0;
  if (kind == Values::small) return static_cast<uint64_t>(is_signed ? s.between(-8, 8) : s.between(0, 15));
  if (kind == Values::special && s.percent(40)) {
    const uint64_t v[] = {least,
                          least - 1,
                          least + 1,
                          0,
                          1,
                          ~0ull,
                          ~1ull,
                          2,
                          static_cast<uint64_t>(bits),
                          static_cast<uint64_t>(bits) - 1,
                          1ull << (bits / 2),
                          1ull << 53,
                          (1ull << 53) + 1,
                          ~0ull >> 1};
    return v[s.below(std::size(v))];
  }
  if (kind == Values::bits) return s.next();
  const uint64_t magnitude = s.next() >> s.between(64 - bits, 63);
  return is_signed && s.percent(50) ? 0 - magnitude : magnitude;
}

}  // namespace

uint64_t random_value(DType t, Values kind, uint64_t seed, uint64_t index) {
  Source s(seed * 0x9e3779b97f4a7c15u + index);
  if (is_bool(t)) return static_cast<uint64_t>(s.below(2));
  if (kind == Values::bits && is_float(t)) return s.next();
  switch (t) {
    case DType::float16: return float16_t(any_float<float16_t>(kind, s)).bits;
    case DType::bfloat16: return bfloat16_t(any_float<bfloat16_t>(kind, s)).bits;
    case DType::float32: return std::bit_cast<uint32_t>(static_cast<float>(any_float<float>(kind, s)));
    case DType::float64: return std::bit_cast<uint64_t>(any_float<double>(kind, s));
    default: return integer(static_cast<int>(size_of(t)) * 8, is_signed_int(t), kind, s);
  }
}

}  // namespace lazy::test
