#include "backends/vector/helpers.hpp"

#include <cmath>
#include <cstdint>

namespace lazy::vir {
namespace {

template <class T, T (*F)(T)>
void each(const void* x, void* out, int n) {
  for (int i = 0; i < n; i++) static_cast<T*>(out)[i] = F(static_cast<const T*>(x)[i]);
}
template <class T, T (*F)(T, T)>
void each(const void* x, const void* y, void* out, int n) {
  for (int i = 0; i < n; i++)
    static_cast<T*>(out)[i] = F(static_cast<const T*>(x)[i], static_cast<const T*>(y)[i]);
}

// Computed in double: the C library reduces any argument exactly, and one rounding remains.
float sin32(float x) { return static_cast<float>(std::sin(static_cast<double>(x))); }
float cos32(float x) { return static_cast<float>(std::cos(static_cast<double>(x))); }
float tan32(float x) { return static_cast<float>(std::tan(static_cast<double>(x))); }
double sin64(double x) { return std::sin(x); }
double cos64(double x) { return std::cos(x); }
double tan64(double x) { return std::tan(x); }

int64_t wrapping_negative(int64_t a) { return static_cast<int64_t>(0 - static_cast<uint64_t>(a)); }
int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrapping_negative(a);
  const int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}
int64_t floor_rem(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
uint64_t div_or_zero(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }
uint64_t rem_or_zero(uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }

uint64_t power(uint64_t x, uint64_t y) {
  uint64_t result = 1;
  for (; y; y >>= 1, x *= x)
    if (y & 1) result *= x;
  return result;
}
int64_t signed_power(int64_t x, int64_t y) {
  if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
  return static_cast<int64_t>(power(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
}
float fmod32(float x, float y) { return std::fmod(x, y); }
double fmod64(double x, double y) { return std::fmod(x, y); }

}  // namespace

void helper_sin_huge_f32(const void* x, const void*, void* out, int n) { each<float, sin32>(x, out, n); }
void helper_cos_huge_f32(const void* x, const void*, void* out, int n) { each<float, cos32>(x, out, n); }
void helper_tan_huge_f32(const void* x, const void*, void* out, int n) { each<float, tan32>(x, out, n); }
void helper_sin_huge_f64(const void* x, const void*, void* out, int n) { each<double, sin64>(x, out, n); }
void helper_cos_huge_f64(const void* x, const void*, void* out, int n) { each<double, cos64>(x, out, n); }
void helper_tan_huge_f64(const void* x, const void*, void* out, int n) { each<double, tan64>(x, out, n); }
void helper_div_i64(const void* x, const void* y, void* out, int n) {
  each<int64_t, floor_div>(x, y, out, n);
}
void helper_rem_i64(const void* x, const void* y, void* out, int n) {
  each<int64_t, floor_rem>(x, y, out, n);
}
void helper_div_u64(const void* x, const void* y, void* out, int n) {
  each<uint64_t, div_or_zero>(x, y, out, n);
}
void helper_rem_u64(const void* x, const void* y, void* out, int n) {
  each<uint64_t, rem_or_zero>(x, y, out, n);
}
void helper_pow_i64(const void* x, const void* y, void* out, int n) {
  each<int64_t, signed_power>(x, y, out, n);
}
void helper_pow_u64(const void* x, const void* y, void* out, int n) { each<uint64_t, power>(x, y, out, n); }
void helper_fmod_f32(const void* x, const void* y, void* out, int n) { each<float, fmod32>(x, y, out, n); }
void helper_fmod_f64(const void* x, const void* y, void* out, int n) { each<double, fmod64>(x, y, out, n); }

const HelperFn kHelpers[] = {
#define LAZY_HELPER(name) helper_##name,
#include "backends/vector/helpers.def"
#undef LAZY_HELPER
};

}  // namespace lazy::vir
