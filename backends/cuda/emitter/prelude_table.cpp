// Holds the text of the prelude. `$T` is replaced by float and double, `$n` by f32 and f64, `$f` by the
// suffix of the C functions of that type and of its constants, in entries that exist for both.
#include "backends/cuda/emitter/prelude.hpp"
#include "backends/cuda/emitter/text.hpp"

namespace lazy::cuda_backend {
namespace {

#define LAZY_FN "static __device__ __forceinline__ "

std::vector<Snippet> for_both_floats(const Snippet& s) {
  std::vector<Snippet> v;
  for (const bool wide : {false, true}) {
    const auto fill = [&](const std::string& text) {
      std::string t = replaced(text, "$T", wide ? "double" : "float");
      t = replaced(t, "$n", wide ? "f64" : "f32");
      return replaced(t, "$f", wide ? "" : "f");
    };
    v.push_back({fill(s.name), fill(s.needs), fill(s.text)});
  }
  return v;
}

/// Holds a snippet's three texts.
struct Texts {
  const char *name, *needs, *text;
};

constexpr Texts kPlain[] = {
    {"at", "",
     "// `bytes` further on.\n"
     "template <class T>\n" LAZY_FN "T* at(T* p, i64 bytes) { return (T*)((char*)p + bytes); }\n"},
    {"Wide", "",
     "// Neighbours in memory, loaded and stored at once.\n"
     "template <class T, int N>\n"
     "struct alignas(sizeof(T) * N) Wide { T at[N]; };\n"},
    {"wide", "Wide",
     "// N elements from p on, all at once.\n"
     "template <int N, class T>\n" LAZY_FN "Wide<T, N>& wide(T* p) { return *(Wide<T, N>*)p; }\n"
     "template <int N, class T>\n" LAZY_FN
     "const Wide<T, N>& wide(const T* p) { return *(const Wide<T, N>*)p; }\n"},
    {"shuffle_down", "",
     "// The value that the lane `distance` further on has.\n"
     "template <class T>\n" LAZY_FN
     "T shuffle_down(T x, u32 distance) { return (T)__shfl_down_sync(0xffffffffu, +x, distance); }\n"},
    {"shuffle", "",
     "template <class T>\n" LAZY_FN
     "T shuffle(T x, int lane) { return (T)__shfl_sync(0xffffffffu, +x, lane); }\n"},
    {"philox", "",
     "// Words 0 and 1 of a block of Philox4x32-10.\n"
     "struct PhiloxWords { u32 x, y; };\n" LAZY_FN "PhiloxWords philox(u32 c0, u32 k0, u32 k1) {\n"
     "  u32 c1 = 0, c2 = 0, c3 = 0;\n"
     "#pragma unroll\n"
     "  for (int round = 0; round < 10; ++round, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {\n"
     "    const u32 p1 = 0xcd9e8d57u * c2, p0 = 0xd2511f53u * c0;\n"
     "    const u32 h1 = __umulhi(0xcd9e8d57u, c2), h0 = __umulhi(0xd2511f53u, c0);\n"
     "    c0 = h1 ^ c1 ^ k0, c2 = h0 ^ c3 ^ k1;\n"
     "    c1 = p1, c3 = p0;\n"
     "  }\n"
     "  return {c0, c1};\n"
     "}\n"},
    // --- positions ---
    {"Best", "",
     "// The best value so far and where it was first; nowhere while nothing was better than what it starts "
     "from.\n"
     "template <class T>\n"
     "struct Best { T value; i64 at; };\n"
     "enum : i64 { nowhere = 0x7fffffffffffffffll };\n"},
    {"offer_max", "Best",
     "// A later value: the first of equals stays, the first NaN is above all.\n"
     "template <class T>\n" LAZY_FN "void offer_max(Best<T>& best, T v, i64 at) {\n"
     "  if (v > best.value || (v != v && best.value == best.value)) best = {v, at};\n"
     "}\n"},
    {"offer_min", "Best",
     "// A later value: the first of equals stays, the first NaN is above all.\n"
     "template <class T>\n" LAZY_FN "void offer_min(Best<T>& best, T v, i64 at) {\n"
     "  if (v < best.value || (v != v && best.value == best.value)) best = {v, at};\n"
     "}\n"},
    {"merge_max", "Best",
     "template <class T>\n" LAZY_FN "void merge_max(Best<T>& a, const Best<T>& b) {\n"
     "  const bool nan_a = a.value != a.value, nan_b = b.value != b.value;\n"
     "  const bool tie = nan_a ? nan_b : a.value == b.value;\n"
     "  if (tie ? b.at < a.at : !nan_a && (nan_b || b.value > a.value)) a = b;\n"
     "}\n"},
    {"merge_min", "Best",
     "template <class T>\n" LAZY_FN "void merge_min(Best<T>& a, const Best<T>& b) {\n"
     "  const bool nan_a = a.value != a.value, nan_b = b.value != b.value;\n"
     "  const bool tie = nan_a ? nan_b : a.value == b.value;\n"
     "  if (tie ? b.at < a.at : !nan_a && (nan_b || b.value < a.value)) a = b;\n"
     "}\n"},
    // --- integers ---
    {"floor_divide_int", "",
     "// Towards -inf; by 0 gives 0; the least integer by -1 wraps to itself.\n"
     "template <class T>\n" LAZY_FN "T floor_divide_int(T a, T b) {\n"
     "  if (b == 0) return 0;\n"
     "  if (b == (T)-1 && (T)-1 < (T)0) return (T)(0 - (u64)a);\n"
     "  return (T)(a / b - (a % b != 0 && (a < (T)0) != (b < (T)0)));\n"
     "}\n"},
    {"remainder_int", "",
     "// The sign of the divisor; by 0 gives 0.\n"
     "template <class T>\n" LAZY_FN "T remainder_int(T a, T b) {\n"
     "  if (b == 0 || (b == (T)-1 && (T)-1 < (T)0)) return 0;\n"
     "  const T rest = (T)(a % b);\n"
     "  return (T)(rest != 0 && (rest < (T)0) != (b < (T)0) ? rest + b : rest);\n"
     "}\n"},
    {"power_int", "",
     "// Wraps; a negative exponent gives 1 / x^|y| truncated, 0 for x = 0.\n"
     "template <class T>\n" LAZY_FN "T power_int(T x, T y) {\n"
     "  if (y < (T)0) return x == (T)1 ? (T)1 : x == (T)-1 ? (T)(y % 2 ? -1 : 1) : (T)0;\n"
     "  u64 result = 1, base = (u64)x;\n"
     "  for (u64 e = (u64)y; e; e >>= 1) {\n"
     "    if (e & 1) result *= base;\n"
     "    base *= base;\n"
     "  }\n"
     "  return (T)result;\n"
     "}\n"},
    {"left_shift_int", "",
     "// By the width or more gives 0; a negative count is, as unsigned, past every width.\n"
     "template <class T>\n" LAZY_FN "T left_shift_int(T a, T count) {\n"
     "  return (u64)count < sizeof(T) * 8 ? (T)((u64)a << (u64)count) : (T)0;\n"
     "}\n"},
    {"right_shift_int", "",
     "// By the width or more leaves nothing but signs.\n"
     "template <class T>\n" LAZY_FN "T right_shift_int(T a, T count) {\n"
     "  if ((u64)count < sizeof(T) * 8) return (T)(a >> count);\n"
     "  return a < (T)0 ? (T)-1 : (T)0;\n"
     "}\n"},
    // --- conversions ---
    {"saturate", "",
     "// Towards zero; out of [low, high) gives the nearest end, NaN gives 0.\n"
     "template <class To, class From>\n" LAZY_FN
     "To saturate(From v, From low, From high, To least, To most) {\n"
     "  return v != v ? (To)0 : v < low ? least : v >= high ? most : (To)v;\n"
     "}\n"},
    {"f32_of_f16", "",
     "#ifdef LAZY_EMULATED\n" LAZY_FN "float f32_of_f16(f16 h) {\n"
     "  const u32 sign = (u32)(h.bits & 0x8000) << 16, rest = h.bits & 0x7fff;\n"
     "  if (rest >= 0x7c00)\n"
     "    return __uint_as_float(sign | 0x7f800000u | (rest & 0x3ff) << 13 | (rest > 0x7c00 ? 0x400000u : "
     "0u));\n"
     "  return __uint_as_float(sign | __float_as_uint(__uint_as_float(rest << 13) * 0x1p112f));\n"
     "}\n"
     "#else\n" LAZY_FN "float f32_of_f16(f16 h) {\n"
     "  float f;\n"
     "  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(h.bits));\n"
     "  return f;\n"
     "}\n"
     "#endif\n"},
    {"f16_of_f32", "",
     "#ifdef LAZY_EMULATED\n" LAZY_FN "f16 f16_of_f32(float f) {\n"
     "  const u32 bits = __float_as_uint(f), a = bits & 0x7fffffffu;\n"
     "  const u16 sign = (u16)(bits >> 16 & 0x8000u);\n"
     "  if (a > 0x7f800000u) return {(u16)(sign | 0x7e00u | (a >> 13 & 0x1ffu))};\n"
     "  if (a >= 0x477ff000u) return {(u16)(sign | 0x7c00u)};\n"
     "  if (a < 0x38800000u) return {(u16)(sign | (__float_as_uint(__uint_as_float(a) + 0.5f) - "
     "0x3f000000u))};\n"
     "  return {(u16)(sign | ((a - (112u << 23) + 0xfffu + (a >> 13 & 1u)) >> 13))};\n"
     "}\n"
     "#else\n" LAZY_FN "f16 f16_of_f32(float f) {\n"
     "  f16 h;\n"
     "  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h.bits) : \"f\"(f));\n"
     "  return h;\n"
     "}\n"
     "#endif\n"},
    {"f32_of_bf16", "", LAZY_FN "float f32_of_bf16(bf16 b) { return __uint_as_float((u32)b.bits << 16); }\n"},
    {"bf16_of_f32", "",
     LAZY_FN "bf16 bf16_of_f32(float f) {\n"
             "  const u32 bits = __float_as_uint(f);\n"
             "  if (f != f) return {(u16)(bits >> 16 | 0x40u)};\n"
             "  return {(u16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};\n"
             "}\n"},
    {"f32_odd", "",
     "// The nearest float32, but if inexact the neighbour whose last bit is odd: rounded on to 16 bits, "
     "that is what\n"
     "// rounding the float64 gives.\n" LAZY_FN "float f32_odd(double x) {\n"
     "  const float near = (float)x;\n"
     "  const double back = (double)near;\n"
     "  const u32 bits = __float_as_uint(near);\n"
     "  if (bits & 1u || back == x || !(fabs(x) < __longlong_as_double(0x7ff0000000000000ll))) return near;\n"
     "  return __uint_as_float(fabs(back) > fabs(x) ? bits - 1u : bits + 1u);\n"
     "}\n"},
    {"f64_sticky_i64", "",
     "// Past 2^53 the low bits become one: then rounding to float64 loses nothing that 16 bits could "
     "tell.\n" LAZY_FN "double f64_sticky_i64(i64 v) {\n"
     "  const i64 limit = 1ll << 53;\n"
     "  const i64 shorter = (v & ~0x7ffll) | ((v & 0x7ffll) != 0 ? 0x800ll : 0ll);\n"
     "  return (double)(v >= limit || v <= -limit ? shorter : v);\n"
     "}\n"},
    {"f64_sticky_u64", "",
     "// Past 2^53 the low bits become one: then rounding to float64 loses nothing that 16 bits could "
     "tell.\n" LAZY_FN "double f64_sticky_u64(u64 v) {\n"
     "  const u64 shorter = (v & ~0x7ffull) | ((v & 0x7ffull) != 0 ? 0x800ull : 0ull);\n"
     "  return (double)(v >= 1ull << 53 ? shorter : v);\n"
     "}\n"},
    // --- floats, where the two types differ ---
    {"negative_f32", "",
     "// A NaN's sign too.\n" LAZY_FN
     "float negative_f32(float x) { return __uint_as_float(__float_as_uint(x) ^ 0x80000000u); }\n"},
    {"negative_f64", "",
     "// A NaN's sign too.\n" LAZY_FN "double negative_f64(double x) { return "
     "__longlong_as_double(__double_as_longlong(x) ^ (1ll << 63)); }\n"},
    {"maximum_f32", "",
     "// Either NaN gives NaN; -0 is less than +0.\n"
     "#if !defined(LAZY_EMULATED) && __CUDA_ARCH__ >= 800\n" LAZY_FN "float maximum_f32(float a, float b) {\n"
     "  float r;\n"
     "  asm(\"max.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b));\n"
     "  return r;\n"
     "}\n"
     "#else\n" LAZY_FN "float maximum_f32(float a, float b) {\n"
     "  if (a != a || b != b) return a + b;\n"
     "  if (a == b) return __int_as_float(__float_as_int(a) & __float_as_int(b));\n"
     "  return a > b ? a : b;\n"
     "}\n"
     "#endif\n"},
    {"minimum_f32", "",
     "// Either NaN gives NaN; -0 is less than +0.\n"
     "#if !defined(LAZY_EMULATED) && __CUDA_ARCH__ >= 800\n" LAZY_FN "float minimum_f32(float a, float b) {\n"
     "  float r;\n"
     "  asm(\"min.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b));\n"
     "  return r;\n"
     "}\n"
     "#else\n" LAZY_FN "float minimum_f32(float a, float b) {\n"
     "  if (a != a || b != b) return a + b;\n"
     "  if (a == b) return __int_as_float(__float_as_int(a) | __float_as_int(b));\n"
     "  return a < b ? a : b;\n"
     "}\n"
     "#endif\n"},
    {"maximum_f64", "",
     "// Either NaN gives NaN; -0 is less than +0.\n" LAZY_FN "double maximum_f64(double a, double b) {\n"
     "  if (a != a || b != b) return a + b;\n"
     "  if (a == b) return __longlong_as_double(__double_as_longlong(a) & __double_as_longlong(b));\n"
     "  return a > b ? a : b;\n"
     "}\n"},
    {"minimum_f64", "",
     "// Either NaN gives NaN; -0 is less than +0.\n" LAZY_FN "double minimum_f64(double a, double b) {\n"
     "  if (a != a || b != b) return a + b;\n"
     "  if (a == b) return __longlong_as_double(__double_as_longlong(a) | __double_as_longlong(b));\n"
     "  return a < b ? a : b;\n"
     "}\n"},
    // --- what vector math asks for ---
    {"times_power_of_two_f32", "",
     "// a * 2^n, rounded once: n is a whole number, |n| <= 200, and 1/128 <= |a| < 4, or a is NaN, or n is "
     "0.\n"
     "// `shifted` is n + 1.5 * 2^23, whose last bits are n's.\n" LAZY_FN
     "float times_power_of_two_f32(float a, float shifted) {\n"
     "  const u32 n = __float_as_uint(shifted), half = n >> 1;\n"
     "  return a * __uint_as_float((half << 23) + 0x3f800000u) * __uint_as_float(((n - half) << 23) + "
     "0x3f800000u);\n"
     "}\n"},
    {"times_power_of_two_f64", "",
     "// a * 2^n, rounded once: n is a whole number, |n| <= 1200, and 1/128 <= |a| < 4, or a is NaN, or n is "
     "0.\n"
     "// `shifted` is n + 1.5 * 2^52, whose last bits are n's.\n" LAZY_FN
     "double times_power_of_two_f64(double a, double shifted) {\n"
     "  const i32 n = (i32)(u32)__double_as_longlong(shifted), half = n >> 1;\n"
     "  return a * __longlong_as_double((i64)((u64)(half + 1023) << 52)) *\n"
     "         __longlong_as_double((i64)((u64)(n - half + 1023) << 52));\n"
     "}\n"},
    {"reciprocal_f32", "",
     "// 1 / b for 2^-126 < |b| < 2^126 and NaN: what a division is between its checks.\n"
     "#ifdef LAZY_EMULATED\n" LAZY_FN "float reciprocal_f32(float b) { return 1.0f / b; }\n"
     "#else\n" LAZY_FN "float reciprocal_f32(float b) {\n"
     "  float r;\n"
     "  asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(r) : \"f\"(b));\n"
     "  return fmaf(r, fmaf(-b, r, 1.0f), r);\n"
     "}\n"
     "#endif\n"},
    {"quotient_f32", "reciprocal_f32",
     "// a / b for 2^-42 <= |b| < 2^42 and 2^-84 <= |a| < 2^84 or a = +0, and NaN: what a division is "
     "between "
     "its checks.\n"
     "#ifdef LAZY_EMULATED\n" LAZY_FN "float quotient_f32(float a, float b) { return a / b; }\n"
     "#else\n" LAZY_FN "float quotient_f32(float a, float b) {\n"
     "  const float r = reciprocal_f32(b), q = a * r;\n"
     "  return fmaf(r, fmaf(-b, q, a), q);\n"
     "}\n"
     "#endif\n"},
    {"divide_rare_f32", "",
     "static __device__ __noinline__ float divide_rare_f32(float a, float b) { return a / b; }\n"},
    {"divide_by_same_f32", "quotient_f32 divide_rare_f32",
     "// a / b, where many are divided by this b: what only b needs is done once.\n" LAZY_FN
     "float divide_by_same_f32(float a, float b) {\n"
     "  const u32 bits = __float_as_uint(a);\n"
     "  const bool is_usual = __float_as_uint(b) * 2 - (85u << 24) < 84u << 24;  // 2^-42 <= |b| < 2^42\n"
     "  float q = quotient_f32(a, b);\n"
     "  if (!is_usual | ((bits * 2 - (43u << 24) >= 168u << 24) & (bits != 0))) q = divide_rare_f32(a, b);\n"
     "  return q;\n"
     "}\n"},
    {"exponent_f32", "",
     "// floor(log2 |a|), denormals too; 0 gives -inf, inf and NaN themselves.\n" LAZY_FN
     "float exponent_f32(float a) {\n"
     "  const float m = fabsf(a), inf = __uint_as_float(0x7f800000u);\n"
     "  const bool tiny = m < 0x1p-126f;\n"
     "  const i32 bits = __float_as_int(tiny ? m * 0x1p64f : m);\n"
     "  const float e = (float)((bits >> 23) - (tiny ? 191 : 127));\n"
     "  return m == 0.0f ? -inf : m < inf ? e : m;\n"
     "}\n"},
    {"exponent_f64", "",
     "// floor(log2 |a|), denormals too; 0 gives -inf, inf and NaN themselves.\n" LAZY_FN
     "double exponent_f64(double a) {\n"
     "  const double m = fabs(a), inf = __longlong_as_double(0x7ff0000000000000ll);\n"
     "  const bool tiny = m < 0x1p-1022;\n"
     "  const i64 bits = __double_as_longlong(tiny ? m * 0x1p64 : m);\n"
     "  const double e = (double)((i32)(bits >> 52) - (tiny ? 1087 : 1023));\n"
     "  return m == 0.0 ? -inf : m < inf ? e : m;\n"
     "}\n"},
    {"exponent_of_normal_f32", "",
     "// floor(log2 a) of what is positive and normal.\n" LAZY_FN
     "float exponent_of_normal_f32(float a) { return (float)((__float_as_int(a) >> 23) - 127); }\n"},
    {"exponent_of_normal_f64", "",
     "// floor(log2 a) of what is positive and normal.\n" LAZY_FN
     "double exponent_of_normal_f64(double a) {\n"
     "  return (double)((i32)(__double_as_longlong(a) >> 52) - 1023);\n"
     "}\n"},
    {"significand_f32", "",
     "// |a|'s significand in [0.75, 1.5), denormals too; 0 and inf give 1.\n" LAZY_FN
     "float significand_f32(float a) {\n"
     "  const float m = fabsf(a);\n"
     "  const u32 bits = __float_as_uint(m < 0x1p-126f ? m * 0x1p64f : m);\n"
     "  return __uint_as_float(bits - ((bits - 0x3f400000u) & 0xff800000u));  // less its exponent, from "
     "0.75 on\n"
     "}\n"},
    {"significand_f64", "",
     "// |a|'s significand in [0.75, 1.5), denormals too; 0 and inf give 1.\n" LAZY_FN
     "double significand_f64(double a) {\n"
     "  const double m = fabs(a);\n"
     "  const u64 bits = (u64)__double_as_longlong(m < 0x1p-1022 ? m * 0x1p64 : m);\n"
     "  return __longlong_as_double((i64)(bits - ((bits - 0x3fe8000000000000ull) & "
     "0xfff0000000000000ull)));\n"
     "}\n"},
    {"significand_or_nan_f32", "significand_f32",
     LAZY_FN "float significand_or_nan_f32(float a) { return a < 0.0f ? __uint_as_float(0x7fc00000u) : "
             "significand_f32(a); }\n"},
    {"significand_or_nan_f64", "significand_f64",
     LAZY_FN "double significand_or_nan_f64(double a) {\n"
             "  return a < 0.0 ? __longlong_as_double(0x7ff8000000000000ll) : significand_f64(a);\n"
             "}\n"},
    // Arguments beyond the inline reduction are rare: out of line.
    {"sin_huge_f32", "",
     "static __device__ __noinline__ float sin_huge_f32(float x) { return (float)sin((double)x); }\n"},
    {"cos_huge_f32", "",
     "static __device__ __noinline__ float cos_huge_f32(float x) { return (float)cos((double)x); }\n"},
    {"tan_huge_f32", "",
     "static __device__ __noinline__ float tan_huge_f32(float x) { return (float)tan((double)x); }\n"},
    {"sin_huge_f64", "", "static __device__ __noinline__ double sin_huge_f64(double x) { return sin(x); }\n"},
    {"cos_huge_f64", "", "static __device__ __noinline__ double cos_huge_f64(double x) { return cos(x); }\n"},
    {"tan_huge_f64", "", "static __device__ __noinline__ double tan_huge_f64(double x) { return tan(x); }\n"},
};

constexpr Texts kFloats[] = {
    {"sign_$n", "",
     "// Either zero gives +0; NaN stays.\n" LAZY_FN
     "$T sign_$n($T x) { return x > 0 ? 1.0$f : x < 0 ? -1.0$f : x == 0 ? 0.0$f : x; }\n"},
    {"Floored_$n", "",
     "// The remainder is exact (fmod), then moved to the divisor's sign; the quotient is a whole number "
     "made from it.\n"
     "struct Floored_$n { $T quotient, remainder; };\n" LAZY_FN "Floored_$n floored_$n($T a, $T b) {\n"
     "  $T rest = fmod$f(a, b);\n"
     "  if (b == 0) return {a / b, rest};\n"
     "  $T quotient = (a - rest) / b;\n"
     "  if (rest == 0) {\n"
     "    rest = copysign$f(0.0$f, b);\n"
     "  } else if ((rest < 0) != (b < 0)) {\n"
     "    rest = rest + b;\n"
     "    quotient = quotient - 1.0$f;\n"
     "  }\n"
     "  if (quotient == 0) return {copysign$f(0.0$f, a / b), rest};\n"
     "  const $T whole = floor$f(quotient);\n"
     "  return {quotient - whole > 0.5$f ? whole + 1.0$f : whole, rest};\n"
     "}\n"},
    {"floor_divide_$n", "Floored_$n",
     LAZY_FN "$T floor_divide_$n($T a, $T b) { return floored_$n(a, b).quotient; }\n"},
    {"remainder_$n", "Floored_$n",
     LAZY_FN "$T remainder_$n($T a, $T b) { return floored_$n(a, b).remainder; }\n"},
};

}  // namespace

const std::vector<Snippet>& prelude_table() {
  static const auto& table = *new std::vector<Snippet>([] {
    std::vector<Snippet> t;
    for (const Texts& s : kPlain) t.push_back({s.name, s.needs, s.text});
    for (const Texts& s : kFloats)
      for (const Snippet& one : for_both_floats({s.name, s.needs, s.text})) t.push_back(one);
    for (Snippet& s : tensor_core_snippets()) t.push_back(std::move(s));
    return t;
  }());
  return table;
}

}  // namespace lazy::cuda_backend
