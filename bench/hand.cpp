// This file is built with -O3 -march=native, contraction allowed (see CMakeLists.txt). Coefficients: Sollya's
// fpminimax.
#include "hand.hpp"

#include <immintrin.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace bench::hand {
namespace {

int threads = 1;

/// Returns e^x within about 1 ulp where the result is normal: x = n ln 2 + r, polynomial in r, n added to the
/// exponent.
inline float exp1(float x) {
  x = std::min(std::max(x, -87.3f), 88.3f);
  const float n = std::rint(x * 1.44269504f);
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float q = 1.37821980752e-3f;
  q = q * r + 8.36867745966e-3f;
  q = q * r + 4.16689664125e-2f;
  q = q * r + 0.16666521132f;
  q = q * r + 0.4999999105930f;
  const float p = q * (r * r) + (r + 1);
  return p * std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
}

/// Returns erf within about 1.5 ulp: an odd polynomial near 0, 1 - e^(-t Q(t)) further out.
inline float erf1(float x) {
  const float z = x * x, t = std::min(std::fabs(x), 3.95f);
  float s = -5.98734827e-4f;
  s = s * z + 4.98982100e-3f;
  s = s * z - 2.67612245e-2f;
  s = s * z + 0.112815209f;
  s = s * z - 0.376124411f;
  s = s * z + 0.128379136f;
  const float near = x * s + x;
  float q = -7.77587275e-7f;
  q = q * t + 2.97979004e-5f;
  q = q * t - 4.66233061e-4f;
  q = q * t + 4.17964067e-3f;
  q = q * t - 2.48664254e-2f;
  q = q * t + 0.107509702f;
  q = q * t + 0.634381175f;
  q = q * t + 1.12883854f;
  const float far = std::copysign(1 - exp1(-t * q), x);
  return t < 0.93f ? near : far;
}

/// Returns x/2 erfc(-x / sqrt 2) within about 1.5 ulp for every normal result: the library's algorithm and
/// accuracy. (1 + erf is exact to an ulp of 1: left of -2 that keeps two digits of the tail, left of -5.5
/// none.)
inline float gelu1(float x) {
  const float a = std::min(std::fabs(x), 13.1f), half = 0.5f * a, t = a * half, t_lo = std::fma(a, half, -t);
  float k = 0x1.e0af32p-10f;
  k = k * t - 0x1.3899f4p-7f;
  k = k * t + 0x1.46e3d2p-5f;
  k = k * t - 0x1.10588ep-3f;
  k = k * t + 0x1.988454p-2f;
  const float near = (x * k + 0.5f) * x;
  const float n = std::rint(t * -1.44269504f), exact = std::fma(n, 0x1.62e43p-1f, t),
              low = std::fma(n, -0x1.05c61p-29f, t_lo), r = exact + low, r_lo = exact - r + low;
  float p = 0x1.6b79b2p-10f;
  p = p * r - 0x1.12292ep-7f;
  p = p * r + 0x1.555712p-5f;
  p = p * r - 0x1.5554aep-3f;
  p = p * r + 0x1.fffffep-2f;
  const float tail = std::fma(r * r, p, -r_lo), w = (a - 1) / (a + 3.0625f) - 152 / 1024.f;
  constexpr float first = 0x1.498e4p-2f;
  float s = -0x1.cde5fep-7f;
  s = s * w + 0x1.080ef8p-6f;
  s = s * w + 0x1.458bfap-5f;
  s = s * w - 0x1.b72294p-5f;
  s = s * w - 0x1.1932ap-3f;
  s = s * w + 0x1.bdbc1cp-2f;
  s = s * w - 0x1.0e0bd4p-1f;
  s = s * w + 0x1.453cf6p-2f;
  const float g = std::fma(s, w, first), g_lo = std::fma(s, w, first - g);
  const float scale = std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
  const float far = std::max(x, 0.0f) - (g + std::fma(-r, g, std::fma(tail, g, g_lo))) * scale;
  return a < 0.65f ? near : far;
}

/// Returns log of a positive normal number within about 1 ulp.
inline float log1(float x) {
  const int32_t bits = std::bit_cast<int32_t>(x), e = (bits - 0x3f3504f3) >> 23;
  const float f = std::bit_cast<float>(bits - (e << 23)) - 1, n = static_cast<float>(e);
  float q = -7.94278309e-2f;
  q = q * f + 0.126387864f;
  q = q * f - 0.129931256f;
  q = q * f + 0.142126143f;
  q = q * f - 0.166414738f;
  q = q * f + 0.200010791f;
  q = q * f - 0.250003040f;
  q = q * f + 0.333333313f;
  const float z = f * f;
  return n * 0.693359375f + (f + (q * (z * f) + (n * -2.12194440e-4f - 0.5f * z)));
}

/// Calls body(begin, end) over parts of [0, n), one a thread; parts begin at multiples of 64.
template <class Body>
void split(size_t n, size_t grain, Body body) {
  if (threads == 1 || n < 2 * grain) return body(size_t{0}, n);
  const size_t part = (n / static_cast<size_t>(threads) + 64) / 64 * 64;
  tbb::parallel_for(
      size_t{0}, static_cast<size_t>(threads),
      [&](size_t i) {
        const size_t begin = std::min(n, i * part), end = std::min(n, begin + part);
        body(begin, end);
      },
      tbb::simple_partitioner());
}

}  // namespace

void set_threads(int n) { threads = n; }

void chain10(const float* a, const float* b, const float* c, float* y, size_t n) {
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) {
    float t = a[i];
    for (int k = 0; k < 5; ++k) t = (t + b[i]) * c[i];
    y[i] = t;
  }
}

void fused_chain(const float* a, const float* b, const float* c, const float* d, float* y, size_t n) {
  split(n, 16384, [=](size_t begin, size_t end) {
#pragma GCC ivdep
    for (size_t i = begin; i < end; ++i) {
      const float x = (a[i] * b[i] + c[i]) * 0.5f;
      y[i] = 0.5f * x * (1 + erf1(x * 0.707106781f)) + 1 / (1 + exp1(-d[i]));
    }
  });
}

void fused_chain_accurate(const float* a, const float* b, const float* c, const float* d, float* y,
                          size_t n) {
  split(n, 16384, [=](size_t begin, size_t end) {
#pragma GCC ivdep
    for (size_t i = begin; i < end; ++i) y[i] = gelu1((a[i] * b[i] + c[i]) * 0.5f) + 1 / (1 + exp1(-d[i]));
  });
}

void triad(const float* a, const float* b, float* y, size_t n) {
  split(n, 16384, [=](size_t begin, size_t end) {
#pragma GCC ivdep
    for (size_t i = begin; i < end; ++i) y[i] = a[i] + 2.5f * b[i];
  });
}

void arith_chain(const float* a, const float* b, const float* c, const float* d, float* y, size_t n) {
  split(n, 16384, [=](size_t begin, size_t end) {
#pragma GCC ivdep
    for (size_t i = begin; i < end; ++i) {
      y[i] = ((a[i] * b[i] + c[i]) * 0.5f + d[i]) * (a[i] - c[i]) + b[i] * d[i];
    }
  });
}

void black_scholes(const float* spot, const float* strike, const float* years, const float* volatility,
                   float* call, float* put, size_t n) {
  constexpr float kRate = 0.02f;
  split(n, 4096, [=](size_t begin, size_t end) {
#pragma GCC ivdep
    for (size_t i = begin; i < end; ++i) {
      const float v = volatility[i], spread = v * std::sqrt(years[i]);
      const float d1 = (log1(spot[i] / strike[i]) + (v * v * 0.5f + kRate) * years[i]) / spread;
      const float n1 = (erf1(d1 * 0.707106781f) + 1) * 0.5f,
                  n2 = (erf1((d1 - spread) * 0.707106781f) + 1) * 0.5f;
      const float discounted = strike[i] * exp1(years[i] * -kRate);
      call[i] = spot[i] * n1 - discounted * n2;
      put[i] = discounted * (1 - n2) - spot[i] * (1 - n1);
    }
  });
}

void mandelbrot(const float* cr, const float* ci, float* count, size_t n, int iterations) {
  // Computes four vectors at once, so that the latency of one step hides behind the other three; all steps
  // stay in registers.
  typedef float Vec __attribute__((vector_size(64)));
  constexpr size_t kLanes = 16, kVectors = 4, kBlock = kLanes * kVectors;
  const auto block = [=](const float* re, const float* im, float* out) {
    Vec a[kVectors], b[kVectors], zr[kVectors] = {}, zi[kVectors] = {}, steps[kVectors] = {};
    std::memcpy(a, re, sizeof a);
    std::memcpy(b, im, sizeof b);
    for (int k = 0; k < iterations; ++k) {
      for (size_t u = 0; u < kVectors; ++u) {
        const Vec r2 = zr[u] * zr[u], i2 = zi[u] * zi[u];
        const auto inside = (r2 + i2) <= 4.0f;
        const Vec next_i = zr[u] * zi[u] * 2.0f + b[u], next_r = r2 - i2 + a[u];
        zr[u] = inside ? next_r : zr[u];
        zi[u] = inside ? next_i : zi[u];
        steps[u] = inside ? steps[u] + 1.0f : steps[u];
      }
    }
    std::memcpy(out, steps, sizeof steps);
  };
  split(n, 1024, [=](size_t begin, size_t end) {
    size_t i = begin;
    for (; i + kBlock <= end; i += kBlock) block(cr + i, ci + i, count + i);
    if (i < end) {
      float re[kBlock] = {}, im[kBlock] = {}, out[kBlock];
      std::copy(cr + i, cr + end, re);
      std::copy(ci + i, ci + end, im);
      block(re, im, out);
      std::copy(out, out + (end - i), count + i);
    }
  });
}

namespace {

/// Calls f(row's first element) for each row.
template <class F>
void each_row(size_t rows, size_t columns, F&& f) {
  split(rows, std::max<size_t>(1, 16384 / columns), [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) f(r);
  });
}
#ifdef __AVX512F__
constexpr size_t kLanes = 16;
#else
constexpr size_t kLanes = 8;
#endif
typedef float Vector __attribute__((vector_size(kLanes * 4)));
typedef int32_t Lanes __attribute__((vector_size(kLanes * 4)));
inline Vector load(const float* x) {
  Vector v;
  std::memcpy(&v, x, sizeof v);
  return v;
}
/// Returns the first n elements of a vector, the others 0.
inline Vector load_some(const float* x, size_t n) {
#ifdef __AVX512F__
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), x);
#else
  Vector v{};
  std::memcpy(&v, x, n * sizeof(float));
  return v;
#endif
}
/// True if a lane of a comparison's result is.
inline bool any(Lanes v) {
#ifdef __AVX512F__
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(v)) != 0;
#else
  return _mm256_movemask_epi8(reinterpret_cast<__m256i>(v)) != 0;
#endif
}
inline Lanes lane_numbers() {
  Lanes v{};
  for (int32_t l = 0; l < static_cast<int32_t>(kLanes); ++l) v[l] = l;
  return v;
}

/// Returns the lanes of a vector combined, in halves.
template <class Combine>
inline float across(Vector v, Combine combine) {
#ifdef __AVX512F__
  const auto half = combine(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
                            __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
#else
  const Vector half = v;
#endif
  const auto a = combine(__builtin_shufflevector(half, half, 0, 1, 2, 3),
                         __builtin_shufflevector(half, half, 4, 5, 6, 7));
  const auto b = combine(a, __builtin_shufflevector(a, a, 2, 3, 0, 1));
  return combine(b, __builtin_shufflevector(b, b, 1, 0, 3, 2))[0];
}

/// Returns all terms of a row combined: four vectors take turns, so that none waits for the one before.
template <class Term, class Combine>
inline float folded(const float* x, size_t n, float start, Term term, Combine combine) {
  Vector a = Vector{} + start, b = a, c = a, d = a;
  size_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    a = combine(a, term(load(x + i)));
    b = combine(b, term(load(x + i + kLanes)));
    c = combine(c, term(load(x + i + 2 * kLanes)));
    d = combine(d, term(load(x + i + 3 * kLanes)));
  }
  for (; i + kLanes <= n; i += kLanes) a = combine(a, term(load(x + i)));
  if (i < n) {
    const Vector rest = combine(b, term(load_some(x + i, n - i)));
    b = lane_numbers() < static_cast<int32_t>(n - i) ? rest : b;
  }
  return across(combine(combine(a, b), combine(c, d)), combine);
}
template <class Term>
inline float sum_of(const float* x, size_t n, Term term) {
  return folded(x, n, 0, term, [](auto a, auto b) { return a + b; });
}
float largest(const float* x, size_t n) {
  return folded(
      x, n, x[0], [](Vector v) { return v; }, [](auto a, auto b) { return a > b ? a : b; });
}
float exp_sum(const float* x, float m, size_t n) {
  float s = 0;
#pragma omp simd reduction(+ : s)
  for (size_t i = 0; i < n; ++i) s += exp1(x[i] - m);
  return s;
}

}  // namespace

void softmax(const float* x, float* y, size_t rows, size_t columns) {
  each_row(rows, columns, [=](size_t r) {
    const float* from = x + r * columns;
    float* to = y + r * columns;
    const float m = largest(from, columns);
    float s = 0;
#pragma omp simd reduction(+ : s)
    for (size_t i = 0; i < columns; ++i) s += to[i] = exp1(from[i] - m);
    s = 1 / s;
#pragma omp simd
    for (size_t i = 0; i < columns; ++i) to[i] *= s;
  });
}

void log_softmax(const float* x, float* y, size_t rows, size_t columns) {
  each_row(rows, columns, [=](size_t r) {
    const float* from = x + r * columns;
    float* to = y + r * columns;
    const float m = largest(from, columns), shift = m + std::log(exp_sum(from, m, columns));
#pragma omp simd
    for (size_t i = 0; i < columns; ++i) to[i] = from[i] - shift;
  });
}

void logsumexp(const float* x, float* y, size_t rows, size_t columns) {
  each_row(rows, columns, [=](size_t r) {
    const float* from = x + r * columns;
    const float m = largest(from, columns);
    y[r] = m + std::log(exp_sum(from, m, columns));
  });
}

void argmax(const float* x, float* y, size_t rows, size_t columns) {
  each_row(rows, columns, [=](size_t r) {
    const float* from = x + r * columns;
    const float m = largest(from, columns);
    size_t i = 0;
    for (; i + 4 * kLanes <= columns; i += 4 * kLanes) {
      const Lanes found = (load(from + i) == m) | (load(from + i + kLanes) == m) |
                          (load(from + i + 2 * kLanes) == m) | (load(from + i + 3 * kLanes) == m);
      if (any(found)) break;
    }
    while (from[i] != m) ++i;
    y[r] = static_cast<float>(i);
  });
}

void sum(const float* x, float* y, size_t rows, size_t columns) {
  each_row(rows, columns,
           [=](size_t r) { y[r] = sum_of(x + r * columns, columns, [](Vector v) { return v; }); });
}

void layernorm(const float* x, const float* weight, const float* bias, float* y, size_t rows,
               size_t columns) {
  each_row(rows, columns, [=](size_t r) {
    const float* from = x + r * columns;
    float* to = y + r * columns;
    const float mean = sum_of(from, columns, [](Vector v) { return v; }) / static_cast<float>(columns);
    const float square = sum_of(from, columns, [mean](Vector v) { return (v - mean) * (v - mean); });
    const float scale = 1 / std::sqrt(square / static_cast<float>(columns) + 1e-5f);
#pragma omp simd
    for (size_t i = 0; i < columns; ++i) to[i] = (from[i] - mean) * scale * weight[i] + bias[i];
  });
}

void rmsnorm(const float* x, const float* weight, float* y, size_t rows, size_t columns) {
  each_row(rows, columns, [=](size_t r) {
    const float* from = x + r * columns;
    float* to = y + r * columns;
    const float square = sum_of(from, columns, [](Vector v) { return v * v; });
    const float scale = 1 / std::sqrt(square / static_cast<float>(columns) + 1e-5f);
#pragma omp simd
    for (size_t i = 0; i < columns; ++i) to[i] = from[i] * scale * weight[i];
  });
}

const char* instructions() {
#ifdef __AVX512F__
  return "AVX-512";
#elif defined __AVX2__
  return "AVX2";
#else
  return "below AVX2";
#endif
}

}  // namespace bench::hand
