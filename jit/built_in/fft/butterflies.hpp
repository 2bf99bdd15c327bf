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
inline FftNumber<V> operator+(const FftNumber<V>& a, const FftNumber<V>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
inline FftNumber<V> operator-(const FftNumber<V>& a, const FftNumber<V>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <class V>
inline FftNumber<V> times_minus_i(const FftNumber<V>& a) {
  return {a.im, -a.re};
}
template <class V, class W>
inline FftNumber<V> times(const FftNumber<V>& a, const FftNumber<W>& w) {
  return {a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re};
}

/// Transforms R numbers in place.
template <int R, class T, class V>
struct Butterfly {
  /// Any odd R: sums and differences of the numbers j and R - j, with the cosines and sines of 2 pi j k / R.
  T c[R], s[R];
  Butterfly() {
    for (int j = 0; j < R; ++j) {
      const Root w = root_of_unity(j, R);
      c[j] = static_cast<T>(w.re), s[j] = static_cast<T>(w.im);
    }
  }
  inline void operator()(FftNumber<V>* a) const {
    constexpr int half = (R - 1) / 2;
    FftNumber<V> plus[half + 1], minus[half + 1];
    FftNumber<V> total = a[0];
    for (int j = 1; j <= half; ++j) {
      plus[j] = a[j] + a[R - j];
      minus[j] = a[j] - a[R - j];
      total = total + plus[j];
    }
    FftNumber<V> b[R];
    b[0] = total;
    for (int k = 1; k <= half; ++k) {
      FftNumber<V> even = a[0], odd{V{}, V{}};
      for (int j = 1; j <= half; ++j) {
        const int at = j * k % R;
        even.re += plus[j].re * c[at], even.im += plus[j].im * c[at];
        odd.re += minus[j].im * s[at], odd.im -= minus[j].re * s[at];
      }
      b[k] = even + odd;
      b[R - k] = even - odd;
    }
    for (int k = 0; k < R; ++k) a[k] = b[k];
  }
};
template <class T, class V>
struct Butterfly<2, T, V> {
  inline void operator()(FftNumber<V>* a) const {
    const FftNumber<V> x = a[0], y = a[1];
    a[0] = x + y, a[1] = x - y;
  }
};
template <class T, class V>
struct Butterfly<4, T, V> {
  inline void operator()(FftNumber<V>* a) const {
    const FftNumber<V> s = a[0] + a[2], d = a[0] - a[2], t = a[1] + a[3], e = times_minus_i(a[1] - a[3]);
    a[0] = s + t, a[1] = d + e, a[2] = s - t, a[3] = d - e;
  }
};
template <class T, class V>
struct Butterfly<8, T, V> {
  inline void operator()(FftNumber<V>* a) const {
    constexpr T h = static_cast<T>(0.70710678118654752440);
    FftNumber<V> even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
    const Butterfly<4, T, V> four;
    four(even), four(odd);
    const FftNumber<V> x = odd[1], y = odd[3];
    odd[1] = {(x.re + x.im) * h, (x.im - x.re) * h};
    odd[2] = times_minus_i(odd[2]);
    odd[3] = {(y.im - y.re) * h, (-y.re - y.im) * h};
    for (int k = 0; k < 4; ++k) a[k] = even[k] + odd[k], a[k + 4] = even[k] - odd[k];
  }
};

}  // namespace
}  // namespace lazy::jit::calls
