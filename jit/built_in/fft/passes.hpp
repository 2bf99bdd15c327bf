// Transforms rows by Stockham's passes, which need no reordering: pass by pass, `stride` numbers that lie
// side by side are done alike. With several rows in lanes that stride begins with their number, so that all
// arithmetic is of whole vectors; with one row it grows with the radices.
//
// A pass of radix R takes x at (q, p + groups j), j = 0 ... R - 1, to y at (q, R p + k): the discrete
// transform over j, times the root exp(-2 pi i p k / (R groups)).
//
// The file that includes this may have chosen an instruction set before: everything is in an unnamed
// namespace.
#pragma once
#include <algorithm>
#include <cstring>
#include <utility>

#include "jit/built_in/fft/plan.hpp"

namespace lazy::jit::calls {
namespace {

template <class T, int width>
struct FftVector {
  using type [[gnu::vector_size(width * sizeof(T))]] = T;
};
template <class T>
struct FftVector<T, 1> {
  using type = T;
};
template <class T, int width>
using FftLanes = typename FftVector<T, width>::type;

template <class V, class T>
inline V load_lanes(const T* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
inline void store_lanes(T* p, const V& v) {
  std::memcpy(p, &v, sizeof v);
}

/// Returns the numbers of two vectors in turn, beginning at number `from` of each.
template <int from, class V, int... I>
inline V in_turn_from(const V& a, const V& b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (from + I / 2 + I % 2 * static_cast<int>(sizeof...(I)))...);
}
/// Has `v` hold number 0 of each vector, then number 1 of each, and so on. R is a power of two.
template <int R, int width, class V>
inline void put_in_turn(V* v) {
  if constexpr (R > 1) {
    V even[R / 2], odd[R / 2];
    for (int i = 0; i < R / 2; ++i) even[i] = v[2 * i], odd[i] = v[2 * i + 1];
    put_in_turn<R / 2, width>(even);
    put_in_turn<R / 2, width>(odd);
    using Lanes = std::make_integer_sequence<int, width>;
    for (int i = 0; i < R / 2; ++i) {
      v[2 * i] = in_turn_from<0>(even[i], odd[i], Lanes());
      v[2 * i + 1] = in_turn_from<width / 2>(even[i], odd[i], Lanes());
    }
  }
}

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

template <class T>
struct FftRows {
  const T *re, *im;
  T *to_re, *to_im;
};

/// Does a pass whose neighbours, `stride` of them, fill whole vectors.
template <int R, int width, class T>
void pass_of_neighbours(const FftPlan<T>& plan, const typename FftPlan<T>::Pass& pass, int64_t stride,
                        const FftRows<T>& r) {
  using V = FftLanes<T, width>;
  const Butterfly<R, T, V> butterfly;
  const int64_t m = pass.groups;
  const T *const w_re = plan.re.data() + pass.roots, *const w_im = plan.im.data() + pass.roots;
  for (int64_t p = 0; p < m; ++p) {
    FftNumber<T> w[R];
    for (int k = 1; k < R; ++k) w[k] = {w_re[(k - 1) * m + p], w_im[(k - 1) * m + p]};
    for (int64_t q = 0; q < stride; q += width) {
      FftNumber<V> a[R];
      for (int j = 0; j < R; ++j) {
        const int64_t at = q + stride * (p + m * j);
        a[j] = {load_lanes<V>(r.re + at), load_lanes<V>(r.im + at)};
      }
      butterfly(a);
      for (int k = 0; k < R; ++k) {
        const int64_t at = q + stride * (R * p + k);
        const FftNumber<V> y = k == 0 ? a[0] : times(a[k], w[k]);
        store_lanes(r.to_re + at, y.re);
        store_lanes(r.to_im + at, y.im);
      }
    }
  }
}

/// Does groups of the first pass of a single row: vectors are of neighbouring groups.
template <int R, int width, class T>
void pass_of_groups(const FftPlan<T>& plan, const typename FftPlan<T>::Pass& pass, const FftRows<T>& r,
                    int64_t first, int64_t last) {
  using V = FftLanes<T, width>;
  const Butterfly<R, T, V> butterfly;
  const int64_t m = pass.groups;
  const T *const w_re = plan.re.data() + pass.roots, *const w_im = plan.im.data() + pass.roots;
  for (int64_t p = first; p < last; p += width) {
    FftNumber<V> a[R];
    for (int j = 0; j < R; ++j) a[j] = {load_lanes<V>(r.re + p + m * j), load_lanes<V>(r.im + p + m * j)};
    butterfly(a);
    if constexpr (width > 1 && (R & (R - 1)) == 0) {
      V re[R], im[R];
      for (int k = 0; k < R; ++k) {
        const int64_t at = (k - 1) * m + p;
        const FftNumber<V> y =
            k == 0 ? a[0] : times(a[k], FftNumber<V>{load_lanes<V>(w_re + at), load_lanes<V>(w_im + at)});
        re[k] = y.re, im[k] = y.im;
      }
      put_in_turn<R, width>(re);
      put_in_turn<R, width>(im);
      for (int k = 0; k < R; ++k) {
        store_lanes(r.to_re + p * R + k * width, re[k]);
        store_lanes(r.to_im + p * R + k * width, im[k]);
      }
      continue;
    }
    T re[R][width], im[R][width];
    for (int k = 0; k < R; ++k) {
      const int64_t at = (k - 1) * m + p;
      const FftNumber<V> y =
          k == 0 ? a[0] : times(a[k], FftNumber<V>{load_lanes<V>(w_re + at), load_lanes<V>(w_im + at)});
      store_lanes(re[k], y.re);
      store_lanes(im[k], y.im);
    }
    for (int l = 0; l < width; ++l)
      for (int k = 0; k < R; ++k) {
        r.to_re[(p + l) * R + k] = re[k][l];
        r.to_im[(p + l) * R + k] = im[k][l];
      }
  }
}

template <int R, int width, class T>
void pass_of_radix(const FftPlan<T>& plan, const typename FftPlan<T>::Pass& pass, int64_t stride,
                   const FftRows<T>& r) {
  if constexpr (width > 1) {
    if (stride % width == 0) return pass_of_neighbours<R, width>(plan, pass, stride, r);
    if (stride == 1 && pass.groups >= width) {
      const int64_t whole = pass.groups / width * width;
      pass_of_groups<R, width>(plan, pass, r, 0, whole);
      return pass_of_groups<R, 1>(plan, pass, r, whole, pass.groups);
    }
    return pass_of_radix<R, width / 2>(plan, pass, stride, r);
  } else {
    pass_of_neighbours<R, 1>(plan, pass, stride, r);
  }
}

template <int width, class T>
void run_pass(const FftPlan<T>& plan, const typename FftPlan<T>::Pass& pass, int64_t stride,
              const FftRows<T>& r) {
  switch (pass.radix) {
#define LAZY_RADIX(n) \
  case n: return pass_of_radix<n, width>(plan, pass, stride, r);
    LAZY_RADIX(2)
    LAZY_RADIX(4)
    LAZY_RADIX(8)
    LAZY_RADIX(3)
    LAZY_RADIX(5)
    LAZY_RADIX(7)
    LAZY_RADIX(11)
    LAZY_RADIX(13)
    LAZY_RADIX(17)
    LAZY_RADIX(19)
    LAZY_RADIX(23)
    LAZY_RADIX(29)
    LAZY_RADIX(31)
#undef LAZY_RADIX
    default: break;
  }
}

template <class T, int width>
void fft_of_rows(const FftPlan<T>&, int64_t lanes, const T* re, const T* im, T* to_re, T* to_im, T* scratch);

/// Multiplies n numbers by others.
template <class T>
void multiply_all(int64_t n, const T* re, const T* im, const std::vector<T>& by_re,
                  const std::vector<T>& by_im, T* to_re, T* to_im) {
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(i);
    const auto y = times(FftNumber<T>{re[i], im[i]}, FftNumber<T>{by_re[at], by_im[at]});
    to_re[i] = y.re, to_im[i] = y.im;
  }
}

/// Transforms a row as a convolution.
template <class T, int width>
void convolved(const FftPlan<T>& plan, const T* re, const T* im, T* to_re, T* to_im, T* scratch) {
  const FftPlan<T>& inner = *plan.inner;
  const int64_t n = plan.length, m = inner.length;
  T *const a_re = scratch, *const a_im = a_re + m, *const b_re = a_im + m, *const b_im = b_re + m,
           *rest = b_im + m;
  multiply_all(n, re, im, plan.chirp_re, plan.chirp_im, a_re, a_im);
  std::fill(a_re + n, a_re + m, T{});
  std::fill(a_im + n, a_im + m, T{});
  fft_of_rows<T, width>(inner, 1, a_re, a_im, b_re, b_im, rest);
  multiply_all(m, b_re, b_im, plan.kernel_re, plan.kernel_im, b_re, b_im);
  // Back: real and imaginary parts exchanged.
  fft_of_rows<T, width>(inner, 1, b_im, b_re, a_im, a_re, rest);
  multiply_all(n, a_re, a_im, plan.chirp_re, plan.chirp_im, to_re, to_im);
}

/// Transforms `lanes` rows that lie side by side, of a convolution one: number i of row l is at i * lanes +
/// l. The source stays. `scratch`: plan.scratch(lanes) numbers.
template <class T, int width>
void fft_of_rows(const FftPlan<T>& plan, int64_t lanes, const T* re, const T* im, T* to_re, T* to_im,
                 T* scratch) {
  const int64_t n = plan.length * lanes;
  if (plan.inner) return convolved<T, width>(plan, re, im, to_re, to_im, scratch);
  if (plan.passes.empty()) {
    std::copy(re, re + n, to_re);
    std::copy(im, im + n, to_im);
    return;
  }
  int64_t stride = lanes;
  T* const buffers[2][2] = {{scratch, scratch + n}, {scratch + 2 * n, scratch + 3 * n}};
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    const bool last = i + 1 == plan.passes.size();
    const FftRows<T> r{re, im, last ? to_re : buffers[i % 2][0], last ? to_im : buffers[i % 2][1]};
    run_pass<width>(plan, plan.passes[i], stride, r);
    stride *= plan.passes[i].radix;
    re = r.to_re, im = r.to_im;
  }
}

}  // namespace
}  // namespace lazy::jit::calls
