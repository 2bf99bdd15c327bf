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

#include "jit/built_in/fft/butterflies.hpp"

namespace lazy::jit::calls {
namespace {

/// Says where a pass reads and writes: `runs` runs of `run` numbers that are done alike. The source's runs
/// lie next to each other.
template <class T>
struct FftRows {
  const T *re, *im;
  T *to_re, *to_im;
  int64_t runs, run;
  int64_t from_stride;        // from number p + groups j to the next
  int64_t to_run, to_stride;  // from a run to the next, and from number R p + k to the next
};

/// Does a pass whose neighbours fill a vector.
template <int R, int width, class T>
void pass_of_neighbours(const FftPlan<T>& plan, const typename FftPlan<T>::Pass& pass, const FftRows<T>& r) {
  using V = FftLanes<T, width>;
  const Butterfly<R, T, V> butterfly;
  const int64_t m = pass.groups, run = r.run, step = r.from_stride * m, to_stride = r.to_stride;
  for (int64_t p = 0; p < m; ++p) {
    const T* const w = plan.roots_of(pass, p);
    for (int64_t s = 0; s < r.runs; ++s) {
      const int64_t from = s * run + r.from_stride * p, to = s * r.to_run + to_stride * R * p;
      const T *re = r.re + from, *im = r.im + from;
      T *to_re = r.to_re + to, *to_im = r.to_im + to;
      for (int64_t next = 0; next < run; next += width) {
        const int64_t q = std::min(next, run - width);  // the last vector does some numbers again
        FftNumber<V> a[R];
        each<R>([&](auto j) LAZY_FFT_INLINE {
          a[j] = {load_lanes<V>(re + q + step * j), load_lanes<V>(im + q + step * j)};
        });
        butterfly(a);
        each<R>([&](auto k) LAZY_FFT_INLINE {
          if constexpr (k > 0)
            a[k] = times(a[k], FftNumber<T>{w[plan.of_root(k)], w[plan.of_root(k) + plan.kBlock]});
          store_lanes(to_re + q + to_stride * k, a[k].re);
          store_lanes(to_im + q + to_stride * k, a[k].im);
        });
      }
    }
  }
}

/// Does the groups from `first` on of the first pass of a single row: vectors are of neighbouring groups.
template <int R, int width, class T>
void pass_of_groups(const FftPlan<T>& plan, const typename FftPlan<T>::Pass& pass, const FftRows<T>& r,
                    int64_t first) {
  using V = FftLanes<T, width>;
  const Butterfly<R, T, V> butterfly;
  const int64_t m = pass.groups;
  int64_t p = first;
  for (; p + width <= m; p += width) {
    FftNumber<V> a[R];
    each<R>([&](auto j) LAZY_FFT_INLINE {
      a[j] = {load_lanes<V>(r.re + p + m * j), load_lanes<V>(r.im + p + m * j)};
    });
    butterfly(a);
    const T* const w = plan.roots_of(pass, p);
    each<R - 1>([&](auto i) LAZY_FFT_INLINE {
      const T* const root = w + plan.of_root(i + 1);
      a[i + 1] = times(a[i + 1], FftNumber<V>{load_lanes<V>(root), load_lanes<V>(root + plan.kBlock)});
    });
    if constexpr ((R & (R - 1)) == 0) {
      V re[R], im[R];
      each<R>([&](auto k) LAZY_FFT_INLINE { re[k] = a[k].re, im[k] = a[k].im; });
      put_in_turn<R, width>(re);
      put_in_turn<R, width>(im);
      each<R>([&](auto k) LAZY_FFT_INLINE {
        store_lanes(r.to_re + p * R + k * width, re[k]);
        store_lanes(r.to_im + p * R + k * width, im[k]);
      });
    } else {
      T re[R][width], im[R][width];
      each<R>([&](auto k) LAZY_FFT_INLINE { store_lanes(re[k], a[k].re), store_lanes(im[k], a[k].im); });
      for (int l = 0; l < width; ++l)
        for (int k = 0; k < R; ++k) {
          r.to_re[(p + l) * R + k] = re[k][l];
          r.to_im[(p + l) * R + k] = im[k][l];
        }
    }
  }
  if constexpr (width > 1)
    if (p < m) pass_of_groups<R, width / 2>(plan, pass, r, p);
}

template <int R, int width, class T>
void pass_of_radix(const FftPlan<T>& plan, const typename FftPlan<T>::Pass& pass, const FftRows<T>& r) {
  if constexpr (width > 1) {
    if (r.run >= width) return pass_of_neighbours<R, width>(plan, pass, r);
    if (r.run == 1 && r.runs == 1 && pass.groups >= width) return pass_of_groups<R, width>(plan, pass, r, 0);
    return pass_of_radix<R, width / 2>(plan, pass, r);
  } else {
    pass_of_neighbours<R, 1>(plan, pass, r);
  }
}

template <int width, class T>
void run_pass(const FftPlan<T>& plan, const typename FftPlan<T>::Pass& pass, const FftRows<T>& r) {
  switch (pass.radix) {
#define LAZY_RADIX(n) \
  case n: return pass_of_radix<n, width>(plan, pass, r);
    LAZY_RADIX(2)
    LAZY_RADIX(4)
    LAZY_RADIX(8)
    LAZY_RADIX(16)
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

/// Transforms `lanes` rows that lie side by side, by passes: number i of row l is at i * from_stride + l, its
/// transform's at i * to_stride + l. The source stays. `scratch`: plan.scratch(lanes) numbers.
template <class T, int width>
void fft_by_passes(const FftPlan<T>& plan, int64_t lanes, const T* re, const T* im, int64_t from_stride,
                   T* to_re, T* to_im, int64_t to_stride, T* scratch) {
  if (plan.passes.empty()) {
    std::copy(re, re + lanes, to_re);
    std::copy(im, im + lanes, to_im);
    return;
  }
  const int64_t apart = plan.apart(plan.length * lanes);
  T* const buffers[2][2] = {{scratch, scratch + apart}, {scratch + 2 * apart, scratch + 3 * apart}};
  int64_t stride = lanes;
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    const bool last = i + 1 == plan.passes.size();
    FftRows<T> r{re, im, buffers[i % 2][0], buffers[i % 2][1], 1, stride, stride, 0, stride};
    if (i == 0) r.from_stride = from_stride;
    if (last) {
      r.to_re = to_re, r.to_im = to_im;
      if (to_stride != lanes) {
        r.runs = stride / lanes, r.run = lanes;
        r.to_run = to_stride, r.to_stride = stride / lanes * to_stride;
      }
    }
    run_pass<width>(plan, plan.passes[i], r);
    stride *= plan.passes[i].radix;
    re = r.to_re, im = r.to_im;
  }
}

}  // namespace
}  // namespace lazy::jit::calls
