// Transforms rows of any length: by passes, as a matrix, or as a convolution. In an unnamed namespace, as
// passes.hpp.
#pragma once
#include <functional>
#include <vector>

#include "jit/built_in/fft/passes.hpp"

namespace lazy::jit::calls {

/// Calls f(first, last, memory) for parts of [0, count), on several threads perhaps, each with so many bytes
/// for itself.
using FftShare = void (*)(int64_t count, int64_t bytes,
                          const std::function<void(int64_t first, int64_t last, void* memory)>& f);

namespace {

/// Shares nothing.
inline void fft_alone(int64_t count, int64_t bytes, const std::function<void(int64_t, int64_t, void*)>& f) {
  std::vector<char> memory(static_cast<size_t>(bytes));
  f(0, count, memory.data());
}

/// Puts `some` columns of n numbers, of those that fill a line of a cache, side by side; lanes without one
/// repeat the last.
template <class T>
void columns_to_lanes(const T* columns, int64_t stride, int64_t n, int64_t some, T* lanes) {
  constexpr int64_t W = kFftSideBySide<T>;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t l = 0; l < W; ++l) lanes[i * W + l] = columns[i * stride + std::min(l, some - 1)];
}
/// Does the opposite.
template <class T>
void lanes_to_columns(const T* lanes, int64_t n, int64_t some, T* columns, int64_t stride) {
  for (int64_t i = 0; i < n; ++i) std::copy_n(lanes + i * kFftSideBySide<T>, some, columns + i * stride);
}

template <class T, int width>
void fft_of_row(const FftPlan<T>&, const T* re, const T* im, T* to_re, T* to_im, T* scratch, FftShare);

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
void fft_convolved(const FftPlan<T>& plan, const T* re, const T* im, T* to_re, T* to_im, T* scratch,
                   FftShare share) {
  const FftPlan<T>& inner = *plan.inner;
  const int64_t n = plan.length, m = inner.length;
  T *const a_re = scratch, *const a_im = a_re + m, *const b_re = a_im + m, *const b_im = b_re + m,
           *rest = b_im + m;
  multiply_all(n, re, im, plan.chirp_re, plan.chirp_im, a_re, a_im);
  std::fill(a_re + n, a_re + m, T{});
  std::fill(a_im + n, a_im + m, T{});
  fft_of_row<T, width>(inner, a_re, a_im, b_re, b_im, rest, share);
  multiply_all(m, b_re, b_im, plan.kernel_re, plan.kernel_im, b_re, b_im);
  // Back: real and imaginary parts exchanged.
  fft_of_row<T, width>(inner, b_im, b_re, a_im, a_re, rest, share);
  multiply_all(n, a_re, a_im, plan.chirp_re, plan.chirp_im, to_re, to_im);
}

/// Transforms a long row as a matrix: blocks of columns, then blocks of rows, as many side by side as fill a
/// line of a cache.
template <class T, int width>
class FftOfMatrix {
 public:
  FftOfMatrix(const FftPlan<T>& plan, const T* re, const T* im, T* to_re, T* to_im, T* scratch)
      : split_(*plan.split),
        re_(re),
        im_(im),
        to_re_(to_re),
        to_im_(to_im),
        mid_re_(scratch),
        mid_im_(scratch + split_.plane()) {}

  void run(FftShare share) const {
    const int64_t bytes = split_.scratch_of_blocks() * static_cast<int64_t>(sizeof(T));
    share(blocks(n2_), bytes, [&](int64_t first, int64_t last, void* memory) {
      for (int64_t b = first; b < last; ++b) columns(b, static_cast<T*>(memory));
    });
    share(blocks(n1_), bytes, [&](int64_t first, int64_t last, void* memory) {
      for (int64_t b = first; b < last; ++b) rows(b, static_cast<T*>(memory));
    });
  }

 private:
  static constexpr int64_t W = kFftSideBySide<T>;
  static int64_t blocks(int64_t n) { return divide_up(n, W); }

  /// Transforms the columns of a block.
  void columns(int64_t block, T* memory) const {
    T *const to_re = mid_re_ + block * n1_ * W, *const to_im = mid_im_ + block * n1_ * W;
    const T *re = re_ + block * W, *im = im_ + block * W;
    int64_t stride = n2_;
    const int64_t some = std::min(W, n2_ - block * W);
    if (some < W) {
      T *const a_re = memory, *const a_im = a_re + n1_ * W;
      columns_to_lanes(re, n2_, n1_, some, a_re);
      columns_to_lanes(im, n2_, n1_, some, a_im);
      re = a_re, im = a_im, stride = W;
      memory = a_im + n1_ * W;
    }
    fft_by_passes<T, width>(split_.columns, W, re, im, stride, to_re, to_im, W, memory);
  }

  /// Transforms the rows of a block.
  void rows(int64_t block, T* memory) const {
    const int64_t all = blocks(n2_) * W * W, some = std::min(W, n1_ - block * W);
    T *const a_re = memory, *const a_im = a_re + FftPlan<T>::apart(all),
             *rest = a_im + FftPlan<T>::apart(all);
    for (int64_t b = 0; b < blocks(n2_); ++b) turn(block, b, a_re + b * W * W, a_im + b * W * W);
    T *const to_re = to_re_ + block * W, *const to_im = to_im_ + block * W;
    if (some == W) return fft_by_passes<T, width>(split_.rows, W, a_re, a_im, W, to_re, to_im, n1_, rest);
    T *const b_re = rest, *const b_im = rest + n2_ * W;
    fft_by_passes<T, width>(split_.rows, W, a_re, a_im, W, b_re, b_im, W, b_im + n2_ * W);
    lanes_to_columns(b_re, n2_, some, to_re, n1_);
    lanes_to_columns(b_im, n2_, some, to_im, n1_);
  }

  /// Multiplies a square of the matrix by its roots, and transposes it.
  void turn(int64_t block, int64_t column_block, T* to_re, T* to_im) const {
    using V = FftLanes<T, width>;
    const int64_t from = (column_block * n1_ + block * W) * W;
    for (int64_t i = 0; i < W; i += width) {
      FftNumber<V> w[width];
      for (int64_t k = 0; k < width; ++k) {
        const FftNumber<T> one = root((block * W + i + k) * column_block * W);
        w[k] = {everywhere<V>(one.re), everywhere<V>(one.im)};
      }
      for (int64_t l = 0; l < W; l += width) {
        V re[width], im[width];
        each<width>([&](auto k) LAZY_FFT_INLINE {
          const int64_t at = (i + k) * W + l, near = (block * W + i + k) * W + l;
          const FftNumber<V> by = times(FftNumber<V>{load_lanes<V>(split_.near_re.data() + near),
                                                     load_lanes<V>(split_.near_im.data() + near)},
                                        w[k]);
          const FftNumber<V> y =
              times(FftNumber<V>{load_lanes<V>(mid_re_ + from + at), load_lanes<V>(mid_im_ + from + at)}, by);
          re[k] = y.re, im[k] = y.im;
        });
        put_in_turn<width, width>(re);
        put_in_turn<width, width>(im);
        each<width>([&](auto k) LAZY_FFT_INLINE {
          store_lanes(to_re + (l + k) * W + i, re[k]);
          store_lanes(to_im + (l + k) * W + i, im[k]);
        });
      }
    }
  }

  /// Returns exp(-2 pi i t / n).
  FftNumber<T> root(int64_t t) const {
    const auto fine = static_cast<size_t>(t % split_.fine), coarse = static_cast<size_t>(t / split_.fine);
    return times(FftNumber<T>{split_.fine_re[fine], split_.fine_im[fine]},
                 FftNumber<T>{split_.coarse_re[coarse], split_.coarse_im[coarse]});
  }

  const FftSplit<T>& split_;
  const int64_t n1_ = split_.columns.length, n2_ = split_.rows.length;
  const T *re_, *im_;
  T *to_re_, *to_im_;
  T *mid_re_, *mid_im_;  // between columns and rows
};

/// Transforms a row. The source stays. `scratch`: plan.scratch(1) numbers.
template <class T, int width>
void fft_of_row(const FftPlan<T>& plan, const T* re, const T* im, T* to_re, T* to_im, T* scratch,
                FftShare share) {
  if (plan.inner) fft_convolved<T, width>(plan, re, im, to_re, to_im, scratch, share);
  else if (plan.split) FftOfMatrix<T, width>(plan, re, im, to_re, to_im, scratch).run(share);
  else fft_by_passes<T, width>(plan, 1, re, im, 1, to_re, to_im, 1, scratch);
}

}  // namespace
}  // namespace lazy::jit::calls
