// Transforms of a few complex numbers, or of as many in each lane. In an unnamed namespace, as passes.hpp.
#pragma once
#include "jit/built_in/fft/lanes.hpp"
#include "jit/built_in/fft/plan.hpp"

namespace lazy::jit::calls {
namespace {

/// Holds a complex number, or one in each lane.
template <class V>
struct FftNumber {
  V re, im;
};
template <class V>
LAZY_FFT_INLINE inline FftNumber<V> operator+(const FftNumber<V>& a, const FftNumber<V>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
LAZY_FFT_INLINE inline FftNumber<V> operator-(const FftNumber<V>& a, const FftNumber<V>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <class V>
LAZY_FFT_INLINE inline FftNumber<V> times_minus_i(const FftNumber<V>& a) {
  return {a.im, -a.re};
}
template <class V, class W>
LAZY_FFT_INLINE inline FftNumber<V> times(const FftNumber<V>& a, const FftNumber<W>& w) {
  const V re = everywhere<V>(w.re), im = everywhere<V>(w.im);
  return {fused(-a.im, im, a.re * re), fused(a.re, im, a.im * re)};
}

/// Transforms R numbers in place.
template <int R, class T, class V>
struct Butterfly {
  /// Any odd R: sums and differences of the numbers j and R - j, with the cosines and sines of 2 pi j k / R.
  struct Circle {
    T c[R], s[R];
    Circle() {
      for (int j = 0; j < R; ++j) {
        const Root w = root_of_unity(j, R);
        c[j] = static_cast<T>(w.re), s[j] = static_cast<T>(w.im);
      }
    }
  };
  const Circle& circle = of_all();
  static const Circle& of_all() {
    static const Circle all;
    return all;
  }
  LAZY_FFT_INLINE inline void operator()(FftNumber<V>* a) const {
    constexpr int half = (R - 1) / 2;
    FftNumber<V> plus[half + 1], minus[half + 1];
    FftNumber<V> total = a[0];
    each<half>([&](auto i) LAZY_FFT_INLINE {
      constexpr int j = i + 1;
      plus[j] = a[j] + a[R - j];
      minus[j] = a[j] - a[R - j];
      total = total + plus[j];
    });
    FftNumber<V> b[R];
    each<half>([&](auto i) LAZY_FFT_INLINE {
      constexpr int k = i + 1;
      FftNumber<V> even = a[0], odd{V{}, V{}};
      const auto add = [&](int j, int at) LAZY_FFT_INLINE {
        const V c = everywhere<V>(circle.c[at]), s = everywhere<V>(circle.s[at]);
        even.re = fused(plus[j].re, c, even.re), even.im = fused(plus[j].im, c, even.im);
        odd.re = fused(minus[j].im, s, odd.re), odd.im = fused(-minus[j].re, s, odd.im);
      };
      if constexpr (R <= 7) {
        each<half>([&](auto l) LAZY_FFT_INLINE { add(l + 1, (l + 1) * k % R); });
      } else {
        for (int j = 1; j <= half; ++j) add(j, j * k % R);
      }
      b[k] = even + odd;
      b[R - k] = even - odd;
    });
    a[0] = total;
    each<R - 1>([&](auto i) LAZY_FFT_INLINE { a[i + 1] = b[i + 1]; });
  }
};
template <class T, class V>
struct Butterfly<2, T, V> {
  LAZY_FFT_INLINE inline void operator()(FftNumber<V>* a) const {
    const FftNumber<V> x = a[0], y = a[1];
    a[0] = x + y, a[1] = x - y;
  }
};
template <class T, class V>
struct Butterfly<4, T, V> {
  LAZY_FFT_INLINE inline void operator()(FftNumber<V>* a) const {
    const FftNumber<V> s = a[0] + a[2], d = a[0] - a[2], t = a[1] + a[3], e = times_minus_i(a[1] - a[3]);
    a[0] = s + t, a[1] = d + e, a[2] = s - t, a[3] = d - e;
  }
};
template <class T, class V>
struct Butterfly<8, T, V> {
  LAZY_FFT_INLINE inline void operator()(FftNumber<V>* a) const {
    constexpr T h = static_cast<T>(0.70710678118654752440);
    FftNumber<V> even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
    const Butterfly<4, T, V> four;
    four(even), four(odd);
    const FftNumber<V> x = odd[1], y = odd[3];
    odd[1] = {(x.re + x.im) * h, (x.im - x.re) * h};
    odd[2] = times_minus_i(odd[2]);
    odd[3] = {(y.im - y.re) * h, (-y.re - y.im) * h};
    each<4>([&](auto k) LAZY_FFT_INLINE { a[k] = even[k] + odd[k], a[k + 4] = even[k] - odd[k]; });
  }
};

template <class T, class V>
struct Butterfly<16, T, V> {
  LAZY_FFT_INLINE inline void operator()(FftNumber<V>* a) const {
    constexpr T h = static_cast<T>(0.70710678118654752440), c = static_cast<T>(0.92387953251128675613),
                s = static_cast<T>(0.38268343236508977173);
    // b[j]: the transform of the numbers j + 4 i, times exp(-2 pi i j k / 16).
    FftNumber<V> b[4][4];
    const Butterfly<4, T, V> four;
    each<4>([&](auto j) LAZY_FFT_INLINE {
      each<4>([&](auto i) LAZY_FFT_INLINE { b[j][i] = a[j + 4 * i]; });
      four(b[j]);
    });
    const auto eighth = [](const FftNumber<V>& x) {
      return FftNumber<V>{(x.re + x.im) * h, (x.im - x.re) * h};
    };
    b[1][1] = times(b[1][1], FftNumber<T>{c, -s});
    b[1][2] = eighth(b[1][2]);
    b[1][3] = times(b[1][3], FftNumber<T>{s, -c});
    b[2][1] = eighth(b[2][1]);
    b[2][2] = times_minus_i(b[2][2]);
    b[2][3] = times_minus_i(eighth(b[2][3]));
    b[3][1] = times(b[3][1], FftNumber<T>{s, -c});
    b[3][2] = times_minus_i(eighth(b[3][2]));
    b[3][3] = times(b[3][3], FftNumber<T>{-c, s});
    each<4>([&](auto k) LAZY_FFT_INLINE {
      FftNumber<V> y[4] = {b[0][k], b[1][k], b[2][k], b[3][k]};
      four(y);
      each<4>([&](auto i) LAZY_FFT_INLINE { a[k + 4 * i] = y[i]; });
    });
  }
};

}  // namespace
}  // namespace lazy::jit::calls
